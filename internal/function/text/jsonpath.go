package text

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// jsonPathDefs look into JSON without a schema.
func jsonPathDefs() []*fn.Def {
	names := plan.Array(plan.String, true)
	return []*fn.Def{
		fn.Scalar("get_json_object", "json_funcs",
			fn.Takes(fn.Str(), fn.Str()).Gives(plan.String).WithNull(fn.Always), fn.Plain(getJSONObject),
			fn.Example{`get_json_object('{"a":"b"}', '$.a')`, "b"}),
		fn.Scalar("json_array_length", "json_funcs",
			fn.Takes(fn.Str()).Gives(plan.Int).WithNull(fn.Always), fn.Plain(jsonArrayLength),
			fn.Example{"json_array_length('[1,2,3,4]')", "4"}),
		fn.Scalar("json_object_keys", "json_funcs",
			fn.Takes(fn.Str()).Gives(names).WithNull(fn.Always), fn.Plain(jsonObjectKeys(names)),
			fn.Example{`json_object_keys('{"key": "value"}')`, "[key]"}),
	}
}

func getJSONObject(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	var finder codec.JSONFinder
	var path codec.JSONPath
	var parsed string // the text of path
	ok := false
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		if text := args[1].Bytes(i); string(text) != parsed {
			parsed = string(text)
			path, ok = codec.ParseJSONPath(parsed)
		}
		if !ok {
			return dst, false, nil
		}
		out, found := finder.Append(dst, args[0].Bytes(i), path)
		return out, found, nil
	})(args, sel, n)
}

func jsonArrayLength(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	var finder codec.JSONFinder
	return fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
		length, ok := finder.Len(args[0].Bytes(i))
		return int32(length), ok, nil
	})(args, sel, n)
}

func jsonObjectKeys(names plan.Type) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		var finder codec.JSONFinder
		return fn.Nested(names, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			doc, keys := args[0].Bytes(i), out.Kids[0]
			if !finder.Keys(doc, func([]byte) {}) {
				out.AppendNull()
				return nil
			}
			finder.Keys(doc, keys.AppendBytes)
			out.AppendSpan()
			return nil
		})(args, sel, n)
	}
}
