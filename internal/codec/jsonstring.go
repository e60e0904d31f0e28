package codec

// appendJSONString writes a JSON string as Jackson does: it escapes quotes,
// backslashes and control characters, nothing else.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendJSONFloat writes a float or double; what is no number is quoted.
func appendJSONFloat[T float32 | float64](dst []byte, text func([]byte, T) []byte, f T) []byte {
	if f-f == 0 {
		return text(dst, f)
	}
	dst = append(dst, '"')
	dst = text(dst, f)
	return append(dst, '"')
}
