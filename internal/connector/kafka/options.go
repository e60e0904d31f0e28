package kafka

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/function/javaregex"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// The three ways to say what is read; one of them must be given.
const (
	subscribeKey = "subscribe"
	patternKey   = "subscribePattern"
	assignKey    = "assign"
)

const prefix = "kafka."

// topics is what is read: the partitions of some topics, of the topics
// whose names match, or some partitions.
type topics struct {
	kind     string // one of the three keys
	names    []string
	text     string // of the pattern
	pattern  *javaregex.Pattern
	assigned []client.Partition
}

// Describe is Spark's text of a strategy.
func (t *topics) Describe() string {
	switch t.kind {
	case subscribeKey:
		return "Subscribe[" + strings.Join(t.names, ", ") + "]"
	case patternKey:
		return "SubscribePattern[" + t.text + "]"
	default:
		return "Assign[" + strings.TrimSuffix(strings.TrimPrefix(setText(t.assigned), "Set("), ")") + "]"
	}
}

// place is where a read begins or ends: Latest or Earliest in every
// partition, a time in every partition, or an offset or a time in each.
type place struct {
	all     int64 // kafka.Latest or kafka.Earliest; unused when one of the others is set
	timeMs  *int64
	offsets client.Offsets
	times   client.Offsets
	// latestIfNone takes the end for a time after the last record; otherwise a
	// start there is refused.
	latestIfNone bool
}

// settings are the options of a source, checked.
type settings struct {
	topics           topics
	starting, ending place
	failOnDataLoss   bool
	maxOffsets       *int64
	minOffsets       *int64
	maxDelay         time.Duration
	minPartitions    int
	maxRecords       int64 // per partition; 0 is no limit
	pollTimeout      time.Duration
	attempts         int
	attemptPause     time.Duration
	group            string // "" unless kafka.group.id is set
	groupPrefix      string
	commitGroup      string
	config           client.Config
}

// The options that Spark does not have.
const (
	commitGroupKey   = "weir.kafka.commitGroup"
	transactionalKey = "weir.kafka.transactional"
)

// checkOwnOptions refuses options that begin like weir's own and are none: a slip
// of the pen in them must not pass for a promise.
func checkOwnOptions(o plan.Options) error {
	for key := range o {
		own := strings.EqualFold(key, commitGroupKey) || strings.EqualFold(key, transactionalKey)
		if strings.HasPrefix(strings.ToLower(key), "weir.") && !own {
			return plan.IllegalArgument("There is no option %s of Kafka; there are %s and %s.",
				key, commitGroupKey, transactionalKey)
		}
	}
	return nil
}

// checkRead refuses what Spark refuses at load.
func checkRead(o plan.Options, streaming bool) error {
	if err := checkOwnOptions(o); err != nil {
		return err
	}
	if streaming {
		if _, ok := o.Get("endingOffsets"); ok {
			return plan.IllegalArgument("ending offset not valid in streaming queries")
		}
		if _, ok := o.Get("endingOffsetsByTimestamp"); ok {
			return plan.IllegalArgument("ending timestamp not valid in streaming queries")
		}
	} else if err := checkBatch(o); err != nil {
		return err
	}
	if err := checkTopics(o); err != nil {
		return err
	}
	for _, key := range []string{"minPartitions", "maxRecordsPerPartition"} {
		bits := 64
		if key == "minPartitions" {
			bits = 32
		}
		n, err := connector.IntegerOption(o, key, 1, bits)
		if err != nil {
			return err
		}
		if n <= 0 {
			return plan.IllegalArgument("%s must be positive", key)
		}
	}
	if err := checkForbidden(o); err != nil {
		return err
	}
	if _, err := headers(o); err != nil {
		return err
	}
	return checkLimits(o)
}

func checkTopics(o plan.Options) error {
	var given []string
	for _, key := range []string{subscribeKey, patternKey, assignKey} {
		if _, ok := o.Get(key); ok {
			given = append(given, key)
		}
	}
	const keys = "subscribe, subscribepattern, assign. See the docs for more details."
	switch {
	case len(given) == 0:
		return plan.IllegalArgument("One of the following options must be specified for Kafka source: " + keys)
	case len(given) > 1:
		return plan.IllegalArgument("Only one of the following options can be specified for Kafka source: " + keys)
	}
	text, _ := o.Get(given[0])
	switch given[0] {
	case subscribeKey:
		if len(commaList(text)) == 0 {
			return plan.IllegalArgument(
				"No topics to subscribe to as specified value for option 'subscribe' is '%s'", text)
		}
	case patternKey:
		if strings.TrimSpace(text) == "" {
			return plan.IllegalArgument(
				"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '%s'", text)
		}
	default:
		if !strings.HasPrefix(strings.TrimSpace(text), "{") {
			return plan.IllegalArgument(
				"No topicpartitions to assign as specified value for option 'assign' is '%s'", text)
		}
	}
	return nil
}

// checkForbidden refuses settings of Kafka's client that would break what
// the source promises, and one that is missing.
func checkForbidden(o plan.Options) error {
	bytes := func(what string) string {
		return " is not supported as " + what + " are deserialized as byte arrays with ByteArrayDeserializer. " +
			"Use DataFrame operations to explicitly deserialize the " + what + "."
	}
	for _, f := range []struct{ key, why string }{
		{"auto.offset.reset", " is not supported. Set the option startingOffsets to earliest or latest: " +
			"the query keeps its offsets itself, so that no records are missed in new topics and partitions."},
		{"key.deserializer", bytes("keys")},
		{"value.deserializer", bytes("values")},
		{"enable.auto.commit", " is not supported"},
		{"interceptor.classes", " is not supported"},
	} {
		if _, ok := o.Get(prefix + f.key); ok {
			return plan.IllegalArgument("Kafka option '%s'%s", f.key, f.why)
		}
	}
	if _, ok := o.Get(prefix + "bootstrap.servers"); !ok {
		return plan.IllegalArgument(
			"Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer")
	}
	return nil
}

func checkLimits(o plan.Options) error {
	_, least := o.Get("minOffsetsPerTrigger")
	_, most := o.Get("maxOffsetsPerTrigger")
	if !least || !most {
		return nil
	}
	low, err := connector.LongOption(o, "minOffsetsPerTrigger", 0)
	if err != nil {
		return err
	}
	high, err := connector.LongOption(o, "maxOffsetsPerTrigger", 0)
	if err == nil && low > high {
		err = plan.IllegalArgument(
			"The value of minOffsetPerTrigger(%d) is higher than the maxOffsetsPerTrigger(%d).", low, high)
	}
	return err
}

// checkBatch refuses the ends that a batch query cannot have.
func checkBatch(o plan.Options) error {
	starting, err := start(o, false)
	if err != nil {
		return err
	}
	ending, err := end(o)
	if err != nil {
		return err
	}
	if starting.named(client.Latest) {
		return plan.IllegalArgument("starting offset can't be latest for batch queries on Kafka")
	}
	if p, ok := starting.partitionAt(client.Latest); ok {
		return plan.IllegalArgument("startingOffsets for %s can't be latest for batch queries on Kafka", p)
	}
	if ending.named(client.Earliest) {
		return plan.IllegalArgument("ending offset can't be earliest for batch queries on Kafka")
	}
	if p, ok := ending.partitionAt(client.Earliest); ok {
		return plan.IllegalArgument("ending offset for %s can't be earliest for batch queries on Kafka", p)
	}
	if starting.offsets != nil && ending.offsets != nil {
		return checkOrder(starting.offsets, ending.offsets, "offset")
	}
	if starting.times != nil && ending.times != nil {
		return checkOrder(starting.times, ending.times, "timestamp")
	}
	return nil
}

// checkOrder refuses ends that are about other partitions than the starts
// or lie before them.
func checkOrder(starts, ends client.Offsets, kind string) error {
	if !samePartitions(starts, ends) {
		return stateError("MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET",
			"The starts and the ends are about different partitions.",
			"tpsForStartOffset", setText(starts.Partitions()), "tpsForEndOffset", setText(ends.Partitions()))
	}
	for _, p := range starts.Partitions() {
		start, end := starts[p], ends[p]
		if start >= 0 && end >= 0 && start > end {
			from, to := strconv.FormatInt(start, 10), strconv.FormatInt(end, 10)
			return plan.NewError(classIllegal, "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
				"The start "+kind+" "+from+" of partition "+p.String()+" is after its end "+to+".",
				"offsetType", kind, "startOffset", from, "endOffset", to,
				"topic", p.Topic, "partition", strconv.Itoa(int(p.Number)))
		}
	}
	return nil
}

// named tells whether a place is the given one in every partition.
func (p place) named(place int64) bool {
	return p.timeMs == nil && p.offsets == nil && p.times == nil && p.all == place
}

func (p place) partitionAt(place int64) (client.Partition, bool) {
	for _, at := range p.offsets.Partitions() {
		if p.offsets[at] == place {
			return at, true
		}
	}
	return client.Partition{}, false
}

func start(o plan.Options, streaming bool) (place, error) {
	otherwise := client.Earliest
	if streaming {
		otherwise = client.Latest
	}
	return placeOf(o, "starting", otherwise)
}

func end(o plan.Options) (place, error) { return placeOf(o, "ending", client.Latest) }

// placeOf reads the options of a start or an end; side begins their names.
func placeOf(o plan.Options, side string, otherwise int64) (place, error) {
	place := place{all: otherwise}
	if text, ok := o.Get("startingOffsetsByTimestampStrategy"); ok {
		switch strings.ToUpper(text) {
		case "ERROR":
		case "LATEST":
			place.latestIfNone = true
		default:
			return place, &plan.Error{Class: "java.util.NoSuchElementException",
				Msg: "No value found for '" + strings.ToUpper(text) + "'"}
		}
	}
	if text, ok := o.Get(side + "Timestamp"); ok {
		ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return place, plan.IllegalArgument("Expected a single long value, got %s", strings.TrimSpace(text))
		}
		place.timeMs = &ms
		return place, nil
	}
	if text, ok := o.Get(side + "OffsetsByTimestamp"); ok {
		times, err := parseTimes(text)
		place.times = times
		return place, err
	}
	text, ok := o.Get(side + "Offsets")
	switch {
	case !ok:
	case strings.EqualFold(strings.TrimSpace(text), "latest"):
		place.all = client.Latest
	case strings.EqualFold(strings.TrimSpace(text), "earliest"):
		place.all = client.Earliest
	default:
		offsets, err := parseOffsets(text)
		place.offsets = offsets
		return place, err
	}
	return place, nil
}

func headers(o plan.Options) (bool, error) { return sparkBoolean(o, "includeHeaders", false) }

// sparkBoolean is connector.BoolOption with the words of Scala.
func sparkBoolean(o plan.Options, key string, otherwise bool) (bool, error) {
	value, err := connector.BoolOption(o, key, otherwise)
	if err != nil {
		text, _ := o.Get(key)
		return false, plan.IllegalArgument("For input string: %q", text)
	}
	return value, nil
}

// commaList is the words of a list, without blanks and empty ones.
func commaList(text string) []string {
	var words []string
	for _, word := range strings.Split(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// settingsOf reads the options of a source that checkRead passed.
func settingsOf(env *connector.Env, o plan.Options, streaming bool) (s settings, err error) {
	if s.topics, err = topicsOf(o); err != nil {
		return s, err
	}
	if s.starting, err = start(o, streaming); err != nil {
		return s, err
	}
	if s.ending, err = end(o); err != nil && !streaming {
		return s, err
	}
	if s.failOnDataLoss, err = sparkBoolean(o, "failOnDataLoss", true); err != nil {
		return s, err
	}
	if err := s.numbers(o); err != nil {
		return s, err
	}
	s.group, _ = o.Get(prefix + "group.id")
	s.groupPrefix = "spark-kafka-source"
	if prefix, ok := o.Get("groupIdPrefix"); ok {
		s.groupPrefix = prefix
	}
	s.commitGroup, _ = o.Get(commitGroupKey)
	s.config = config(env, o)
	return s, s.config.Check()
}

func (s *settings) numbers(o plan.Options) (err error) {
	for key, into := range map[string]**int64{
		"maxOffsetsPerTrigger": &s.maxOffsets, "minOffsetsPerTrigger": &s.minOffsets,
	} {
		if _, ok := o.Get(key); !ok {
			continue
		}
		n, err := connector.LongOption(o, key, 0)
		if err != nil {
			return err
		}
		*into = &n
	}
	delay := "15m"
	if text, ok := o.Get("maxTriggerDelay"); ok {
		delay = text
	}
	ms, err := connector.Duration(delay, "ms")
	if err != nil {
		return err
	}
	s.maxDelay = milliseconds(ms)
	if s.minPartitions, err = connector.IntOption(o, "minPartitions", 0); err != nil {
		return err
	}
	if s.maxRecords, err = connector.LongOption(o, "maxRecordsPerPartition", 0); err != nil {
		return err
	}
	if ms, err = connector.LongOption(o, "kafkaConsumer.pollTimeoutMs", 120_000); err != nil {
		return err
	}
	s.pollTimeout = milliseconds(ms)
	if s.attempts, err = connector.IntOption(o, "fetchOffset.numRetries", 3); err != nil {
		return err
	}
	ms, err = connector.LongOption(o, "fetchOffset.retryIntervalMs", 1000)
	s.attemptPause = milliseconds(ms)
	return err
}

// milliseconds is a duration, at most as long as one can be.
func milliseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}

func topicsOf(o plan.Options) (t topics, err error) {
	if text, ok := o.Get(subscribeKey); ok {
		t.kind, t.names = subscribeKey, commaList(text)
		return t, nil
	}
	if text, ok := o.Get(patternKey); ok {
		t.kind, t.text = patternKey, strings.TrimSpace(text)
		if _, err := javaregex.Compile(t.text); err != nil {
			return t, &plan.Error{Class: "java.util.regex.PatternSyntaxException",
				Msg: "The option subscribePattern is no regular expression: " + err.Error() + "."}
		}
		t.pattern, err = javaregex.Compile(`\A(?:` + t.text + `)\z`)
		return t, err
	}
	text, _ := o.Get(assignKey)
	t.kind = assignKey
	t.assigned, err = parseAssigned(text)
	for _, p := range t.assigned {
		if !slices.Contains(t.names, p.Topic) {
			t.names = append(t.names, p.Topic)
		}
	}
	return t, err
}

// config is the settings of Kafka's client among the options: those that
// begin with kafka., in any case.
func config(env *connector.Env, o plan.Options) client.Config {
	settings := map[string]string{}
	for key, value := range o {
		lower := strings.ToLower(key)
		if name, ok := strings.CutPrefix(lower, prefix); ok {
			settings[name] = value
		}
	}
	return client.Config{Settings: settings, ReadFile: func(path string) ([]byte, error) {
		place, err := env.Files.Resolve(path)
		if err != nil {
			return nil, err
		}
		return vfs.ReadFile(place.FS, place.Path)
	}}
}
