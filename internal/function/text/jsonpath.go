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
		{Name: "json_tuple", Group: "generator_funcs", Generator: true, Bind: bindJSONTuple, Kernel: jsonTuple},
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

// bindJSONTuple yields one row, a column of text for each name.
func bindJSONTuple(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, fn.WrongCount(b, "> 1")
	}
	fields := make([]plan.Field, len(b.Args)-1)
	for i := range fields {
		fields[i] = plan.Col("c"+fn.Itoa(i), plan.String)
	}
	c := b.Call(b.Args, plan.Struct(fields...), false)
	for _, a := range b.Args {
		if !a.Type().IsString() {
			return nil, fn.Mismatch(b, c, "NON_STRING_TYPE", "json_tuple takes texts only.",
				"funcName", plan.Quote(b.Def.Name))
		}
	}
	return c, nil
}

// jsonTuple is an array of one struct for each row.
func jsonTuple(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	var finder codec.JSONFinder
	var buf []byte
	list := plan.Array(c.Of, false)
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.New(list, n)
		for i := range n {
			for k, col := range out.Kids[0].Kids {
				name := args[k+1]
				if args[0].IsNull(i) || name.IsNull(i) {
					col.AppendNull()
					continue
				}
				var found bool
				if buf, found = finder.Append(buf[:0], args[0].Bytes(i), codec.JSONMember(name.Text(i))); !found {
					col.AppendNull()
					continue
				}
				col.AppendBytes(buf)
			}
			out.Kids[0].AppendRow()
			out.AppendSpan()
		}
		return out, nil
	}, nil
}
