package function

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash/crc32"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
)

// hashDefs are hashes and checksums.
func hashDefs() []*fn.Def {
	digest := fn.Takes(fn.Exactly(plan.Binary)).Gives(plan.String)
	return []*fn.Def{
		{Name: "hash", Group: "hash_funcs", Bind: bindHash(plan.Int), Kernel: hashMaker,
			Examples: []fn.Example{{"hash('Spark', array(123), 2)", "-1321691492"}}},
		{Name: "xxhash64", Group: "hash_funcs", Bind: bindHash(plan.Long), Kernel: xxhashMaker,
			Examples: []fn.Example{{"xxhash64('Spark', array(123), 2)", "5602566077635097486"}}},
		fn.Scalar("md5", "hash_funcs", digest,
			fn.Plain(digestKernel(func(b []byte) []byte { s := md5.Sum(b); return s[:] })),
			fn.Example{"md5('Spark')", "8cde774d6f7333752ed72cacddb05126"}),
		fn.Scalar("sha1 sha", "hash_funcs", digest,
			fn.Plain(digestKernel(func(b []byte) []byte { s := sha1.Sum(b); return s[:] })),
			fn.Example{"sha1('Spark')", "85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c"}).AsWritten(),
		fn.Scalar("sha2", "hash_funcs", fn.Takes(fn.Exactly(plan.Binary), fn.Exactly(plan.Int)).Gives(plan.String).
			WithNull(fn.Always),
			fn.Plain(fn.Text(plan.String, sha2Row)),
			fn.Example{"sha2('Spark', 256)", "529bc3b07127ecb7e53a4dcf1991d9152c24537d919178022b2c42657f79a26b"}),
		fn.Scalar(
			"crc32",
			"hash_funcs",
			fn.Takes(fn.Exactly(plan.Binary)).Gives(plan.Long),
			fn.Plain(fn.Fixed(plan.Long,
				func(args []*chunk.Vector, i int) (int64, bool, error) {
					return int64(crc32.ChecksumIEEE(args[0].Bytes(i))), true, nil
				})),
			fn.Example{"crc32('Spark')", "1557323817"},
		),
	}
}

func digestKernel(sum func(b []byte) []byte) fn.Kernel {
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		return hex.AppendEncode(dst, sum(args[0].Bytes(i))), true, nil
	})
}

func sha2Row(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	b := args[0].Bytes(i)
	switch chunk.Values[int32](args[1])[i] {
	case 0, 256:
		s := sha256.Sum256(b)
		return hex.AppendEncode(dst, s[:]), true, nil
	case 224:
		s := sha256.Sum224(b)
		return hex.AppendEncode(dst, s[:]), true, nil
	case 384:
		s := sha512.Sum384(b)
		return hex.AppendEncode(dst, s[:]), true, nil
	case 512:
		s := sha512.Sum512(b)
		return hex.AppendEncode(dst, s[:]), true, nil
	default:
		return dst, false, nil
	}
}

func bindHash(of plan.Type) func(b *fn.Binding) (*plan.Call, error) {
	return func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) == 0 {
			return nil, fn.WrongCount(b, "> 0")
		}
		c := b.Call(b.Args, of, false)
		for _, a := range b.Args {
			if fn.HasVariant(a.Type()) {
				return nil, fn.Mismatch(b, c, "HASH_VARIANT_TYPE",
					"variants have no hash: equal ones may have other bytes.",
					"functionName", plan.Quote(b.Def.Name))
			}
			if fn.HasMap(a.Type()) && b.Env.Setting("spark.sql.legacy.allowHashOnMapType") != "true" {
				return nil, fn.Mismatch(b, c, "HASH_MAP_TYPE",
					"maps have no hash: equal ones may be written in other orders.",
					"functionName", plan.Quote(b.Def.Name))
			}
		}
		return c, nil
	}
}

func hashMaker(*plan.Call, *fn.Env) (fn.Kernel, error) { return rowHash(plan.Int, hashes.Murmur), nil }

func xxhashMaker(*plan.Call, *fn.Env) (fn.Kernel, error) { return rowHash(plan.Long, hashes.XX), nil }

// rowHash hashes all arguments, NULLs among them.
func rowHash[H int32 | int64](
	t plan.Type, hash func(cols []*chunk.Vector, rows []uint16, out []H),
) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.Make(t, n)
		hash(args, fn.Picked(sel, n), chunk.Values[H](out))
		return out, nil
	}
}
