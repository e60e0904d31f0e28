package sparkconnect

import (
	"math/rand/v2"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

func (d *decoder) describe(m *pb.StatDescribe) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	return plan.NewStatistics(in, nil, m.GetCols(), false), err
}

func (d *decoder) summary(m *pb.StatSummary) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	return plan.NewStatistics(in, m.GetStatistics(), nil, true), err
}

func (d *decoder) covariance(m *pb.StatCov) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	return plan.NewPairStatistic(in, m.GetCol1(), m.GetCol2(), false), err
}

func (d *decoder) correlation(m *pb.StatCorr) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err == nil && m.Method != nil && m.GetMethod() != "pearson" {
		err = plan.IllegalArgument("requirement failed: Currently only the calculation of the Pearson " +
			"Correlation coefficient is supported.")
	}
	return plan.NewPairStatistic(in, m.GetCol1(), m.GetCol2(), true), err
}

func (d *decoder) quantiles(m *pb.StatApproxQuantile) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	return plan.NewQuantiles(in, m.GetCols(), m.GetProbabilities(), m.GetRelativeError()), err
}

// usualSupport is the share of rows from which on a value is frequent, unless one is given.
const usualSupport = 0.01

func (d *decoder) frequentItems(m *pb.StatFreqItems) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	support := usualSupport
	if m.Support != nil {
		support = m.GetSupport()
	}
	return plan.NewFrequentItems(in, m.GetCols(), support), err
}

func (d *decoder) crossTable(m *pb.StatCrosstab) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	return plan.NewCrossTable(in, m.GetCol1(), m.GetCol2()), err
}

func (d *decoder) transpose(m *pb.Transpose) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil || len(m.GetIndexColumns()) == 0 {
		return plan.NewTranspose(in, nil), err
	}
	index, err := d.expression(m.GetIndexColumns()[0])
	return plan.NewTranspose(in, index), err
}

// seedOf is the seed of a sample; without one each plan has its own.
func seedOf(seed *int64) int64 {
	if seed != nil {
		return *seed
	}
	return rand.Int64()
}

func (d *decoder) sample(m *pb.Sample) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	s := plan.NewSample(in, m.GetLowerBound(), m.GetUpperBound(), seedOf(m.Seed))
	s.Sorted, s.Replace = m.GetDeterministicOrder(), m.GetWithReplacement()
	return s, nil
}

func (d *decoder) sampleBy(m *pb.StatSampleBy) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	column, err := d.expression(m.GetCol())
	if err != nil {
		return nil, err
	}
	s := plan.NewSampleBy(in, column, seedOf(m.Seed))
	for _, f := range m.GetFractions() {
		stratum, err := d.literal(f.GetStratum())
		if err != nil {
			return nil, err
		}
		s.Strata, s.Fractions = append(s.Strata, stratum), append(s.Fractions, f.GetFraction())
	}
	return s, nil
}

func (d *decoder) unpivot(m *pb.Unpivot) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	u := plan.NewUnpivot(in, m.GetVariableColumnName(), []string{m.GetValueColumnName()})
	if u.Ids, err = d.expressionList(m.GetIds()); err != nil {
		return nil, err
	}
	if m.Values == nil {
		return u, nil
	}
	u.Values = [][]plan.Expr{}
	for _, v := range m.GetValues().GetValues() {
		e, err := d.expression(v)
		if err != nil {
			return nil, err
		}
		u.Values = append(u.Values, []plan.Expr{e})
	}
	return u, nil
}
