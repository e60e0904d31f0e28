package plan

// CastMayNull reports whether a cast in a mode can turn a value that is not
// NULL into NULL, as far as the types alone say. Spark calls such casts
// nullable even when they raise an error instead (CAST('1' AS INT) under ANSI).
func CastMayNull(from, to Type, mode CastMode) bool {
	if mode != CastTry {
		return ForceNullable(from, to)
	}
	if from.IsString() && to.Kind == KindBinary {
		return false
	}
	return from.Kind == KindDecimal && to.IsIntegral() || !CanUpCast(from, to)
}

// ForceNullable is Spark's rule for the nullability of a cast.
func ForceNullable(from, to Type) bool {
	switch {
	case from.Kind == KindNull || from.EqualIgnoringNull(to):
		return false
	case from.Kind == KindVariant:
		return true
	case from.IsString():
		return !to.IsString() && to.Kind != KindBinary
	case to.IsString():
		return false
	case from.Kind == KindTimestamp && to.Kind >= KindByte && to.Kind <= KindInt:
		return true
	case (from.Kind == KindFloat || from.Kind == KindDouble) && to.Kind == KindTimestamp:
		return true
	case to.Kind == KindDate:
		return from.Kind != KindTimestamp
	case from.Kind == KindDate:
		return to.Kind != KindTimestamp
	case from.Kind == KindTime && (to.Kind == KindByte || to.Kind == KindShort):
		return true
	case to.Kind == KindCalendar:
		return true
	case from.Kind == KindDecimal && to.Kind == KindDecimal:
		return !fitsDecimal(from, to) && to.Precision-to.Scale <= from.Precision-from.Scale
	case to.Kind == KindDecimal:
		return !fitsDecimal(from, to)
	default:
		return from.IsFractional() && to.IsIntegral()
	}
}

// fitsDecimal reports whether every value of from is a value of a decimal type.
func fitsDecimal(from, to Type) bool {
	switch {
	case from.Kind == KindBoolean:
		return to.Precision-to.Scale >= 1
	case from.IsIntegral():
		from = DecimalOf(from.Kind)
	case from.Kind != KindDecimal:
		return false
	}
	return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
}

// CanUpCast reports whether every value of from is a value of to, so that the
// cast needs no check.
func CanUpCast(from, to Type) bool {
	switch {
	case from.EqualIgnoringNull(to) && (from.IsAtomic() || from.Kind == KindVariant), from.Kind == KindNull:
		return true
	case from.Kind == KindArray && to.Kind == KindArray:
		return (!from.ContainsNull || to.ContainsNull) && CanUpCast(*from.Elem, *to.Elem)
	case from.Kind == KindMap && to.Kind == KindMap:
		return (!from.ContainsNull || to.ContainsNull) && CanUpCast(*from.Key, *to.Key) &&
			CanUpCast(*from.Elem, *to.Elem)
	case from.Kind == KindStruct && to.Kind == KindStruct:
		return structUpCast(from, to)
	case from.IsNumeric() && to.IsNumeric():
		return numericUpCast(from, to)
	case from.IsInterval():
		return from.Kind == to.Kind || to.IsString()
	case to.IsString():
		return from.IsAtomic()
	default:
		return temporalUpCast(from.Kind, to.Kind)
	}
}

func structUpCast(from, to Type) bool {
	if len(from.Fields) != len(to.Fields) {
		return false
	}
	for i, f := range from.Fields {
		t := to.Fields[i]
		if f.Nullable && !t.Nullable || !CanUpCast(f.Type, t.Type) {
			return false
		}
	}
	return true
}

func numericUpCast(from, to Type) bool {
	switch {
	case to.Kind == KindDecimal:
		return fitsDecimal(from, to)
	case from.Kind == KindDecimal:
		return to.IsIntegral() && from.Scale <= 0 && from.Precision < DecimalOf(to.Kind).Precision
	default:
		return from.Kind <= to.Kind
	}
}

func temporalUpCast(from, to Kind) bool {
	switch from {
	case KindDate:
		return to == KindTimestamp || to == KindTimestampNTZ
	case KindTimestamp:
		return to == KindTimestampNTZ || to == KindLong
	case KindTimestampNTZ:
		return to == KindTimestamp
	default:
		return from == KindLong && to == KindTimestamp
	}
}
