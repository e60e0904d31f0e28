package plan

// CanFailToNull reports whether a cast between two types can turn a value that
// is not NULL into NULL when errors are not raised (legacy and try modes).
func CanFailToNull(from, to Type) bool {
	if from.EqualIgnoringNull(to) {
		return false
	}
	switch {
	case from.Kind == KindNull:
		return true
	case from.IsString():
		return !to.IsString() && to.Kind != KindBinary
	case to.IsString():
		return false
	case to.Kind == KindDecimal:
		return !fitsDecimal(from, to)
	case from.Kind == KindTimestamp && (to.IsIntegral() && to.Kind != KindLong):
		return true
	case (from.Kind == KindFloat || from.Kind == KindDouble) && to.Kind == KindTimestamp:
		return true
	case from.Kind == KindDate && (to.IsNumeric() || to.Kind == KindBoolean):
		return true
	case from.Kind == KindArray && to.Kind == KindArray:
		return false
	case from.Kind == KindVariant:
		return true
	default:
		return false
	}
}

// fitsDecimal reports whether every value of from is a value of a decimal type.
func fitsDecimal(from, to Type) bool {
	switch {
	case from.Kind == KindBoolean:
		return to.Precision-to.Scale >= 1
	case from.IsIntegral():
		d := DecimalOf(from.Kind)
		if from.Kind == KindLong {
			d.Precision = 19
		}
		return to.Precision-to.Scale >= d.Precision
	case from.Kind == KindDecimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	default:
		return false
	}
}
