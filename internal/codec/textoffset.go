package codec

// appendOffset writes an offset from UTC in one of Java's forms: +HH, +HHmm,
// +HH:MM, +HHMM, +HH:MM:ss, +HHMMss; capital parts always, small ones when
// they are not zero.
func appendOffset(dst []byte, seconds int, form string) []byte {
	sign := byte('+')
	if seconds < 0 {
		sign = '-'
		seconds = -seconds
	}
	h, m, s := seconds/3600, seconds/60%60, seconds%60
	dst = append(dst, sign, byte('0'+h/10), byte('0'+h%10))
	parts := form[3:]
	colon := len(parts) > 0 && parts[0] == ':'
	if colon {
		parts = parts[1:]
	}
	if parts == "" || parts[0] == 'm' && m == 0 && s == 0 {
		return dst
	}
	dst = appendTwo(dst, m, colon)
	if len(parts) > 2 && s != 0 {
		dst = appendTwo(dst, s, colon)
	}
	return dst
}

func appendTwo(dst []byte, v int, colon bool) []byte {
	if colon {
		dst = append(dst, ':')
	}
	return append(dst, byte('0'+v/10), byte('0'+v%10))
}
