package codec

import "strconv"

// anyText appends a value that is no string to a string column: its text as it
// stands in a file, or printed anew for functions.
func (d *jsonDecoder) anyText(n *jsonNode, i int) (int, jsonResult) {
	if !d.function {
		next := d.skip(i)
		if next >= 0 {
			n.out.AppendBytes(d.b[i:next])
		}
		return next, jsonWhole
	}
	out, next := d.reprint(d.printed[:0], i)
	d.printed = out
	if next >= 0 {
		n.out.AppendBytes(out)
	}
	return next, jsonWhole
}

// reprint writes a value without space, numbers in Java's form.
func (d *jsonDecoder) reprint(dst []byte, i int) ([]byte, int) {
	if i >= len(d.b) {
		return dst, -1
	}
	switch c := d.b[i]; c {
	case '{', '[':
		return d.reprintNested(dst, i, c+2)
	case '"', '\'':
		content, next := d.str(i)
		if next < 0 {
			return dst, -1
		}
		return appendJSONString(dst, content), next
	case 't', 'f', 'n':
		next := d.skip(i)
		if next < 0 {
			return dst, -1
		}
		return append(dst, d.b[i:next]...), next
	default:
		return d.reprintNumber(dst, i)
	}
}

func (d *jsonDecoder) reprintNumber(dst []byte, i int) ([]byte, int) {
	next, integer := d.number(i)
	if c := d.b[i]; c == 'N' || c == 'I' {
		next = d.nonNumber(i)
	}
	if next < 0 {
		return dst, -1
	}
	text := textOf(d.b[i:next])
	if f, ok := namedFloat(text); ok {
		return appendJSONFloat(dst, AppendDouble, f), next
	}
	if !integer {
		f, _ := strconv.ParseFloat(text, 64) // out of range is an infinity
		return appendJSONFloat(dst, AppendDouble, f), next
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	if negative && text != "0" {
		dst = append(dst, '-')
	}
	return append(dst, text...), next
}

// reprintNested writes an object or array that ends with close.
func (d *jsonDecoder) reprintNested(dst []byte, i int, close byte) ([]byte, int) {
	if d.depth++; d.depth > maxJSONDepth {
		return dst, -1
	}
	dst = append(dst, d.b[i])
	i = d.space(i + 1)
	for first := true; i < len(d.b) && !(first && d.b[i] == close); first = false {
		if close == '}' {
			name, next := d.key(i)
			if next < 0 {
				return dst, -1
			}
			dst = append(appendJSONString(dst, name), ':')
			i = d.space(next)
		}
		if dst, i = d.reprint(dst, i); i < 0 {
			return dst, -1
		}
		i = d.space(i)
		if i < len(d.b) && d.b[i] == close {
			break
		}
		if i = d.comma(i); i < 0 {
			return dst, -1
		}
		dst = append(dst, ',')
	}
	if i >= len(d.b) {
		return dst, -1
	}
	d.depth--
	return append(dst, close), i + 1
}
