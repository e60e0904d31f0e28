package sql

import (
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// maxDepth bounds the nesting of expressions, queries and types.
const maxDepth = 500

// parser walks the tokens of one text.
//
// A syntax error is kept in err and moves the parser to the end, where nothing
// is accepted any more; so the functions that read return something harmless
// and need not look. They return no nil expression.
type parser struct {
	text  string
	toks  []token
	i     int
	depth int

	err   *plan.Error // syntax: reading has ended
	fault *plan.Error // a mistake in what parses, the first one

	params  Parameters
	unnamed int // positional parameters seen

	places []plan.Origin // a slab that origin hands out

	fromFirst bool // inside FROM t SELECT …, where another SELECT may follow

	windows []windowUse // calls over windows by name, not defined yet
}

// Parameters are the values of :name and ? in a text. A text may use one of
// the two kinds only.
type Parameters struct {
	Named      map[string]plan.Expr
	Positional []plan.Expr
}

func newParser(text string, params Parameters) *parser {
	l := lex(text)
	p := &parser{text: text, toks: l.toks, params: params}
	if l.unclosedComment {
		e := &plan.Error{Condition: "UNCLOSED_BRACKETED_COMMENT", Msg: "A comment that begins with /* has no end."}
		p.fail(e, p.toks[len(p.toks)-1])
	}
	return p
}

// Parse reads one statement: a query or a command. Parameters in it are an
// error; see ParseBound.
func Parse(text string) (plan.Node, error) { return ParseBound(text, Parameters{}) }

// ParseBound reads one statement and puts params in the place of :name and ?.
func ParseBound(text string, params Parameters) (plan.Node, error) {
	p := newParser(text, params)
	if strings.TrimSpace(text) == "" {
		p.fail(&plan.Error{Msg: "The text holds no statement.", Condition: "PARSE_EMPTY_STATEMENT"}, p.toks[0])
	}
	n := p.statement()
	p.endStatement()
	if err := p.failure(); err != nil {
		return nil, err
	}
	return n, nil
}

// ParseExpr reads one expression, which may have an alias.
func ParseExpr(text string) (plan.Expr, error) {
	p := newParser(text, Parameters{})
	e := p.namedExpr()
	p.end()
	if err := p.failure(); err != nil {
		return nil, err
	}
	return e, nil
}

// ParseName reads a name of several parts, such as cat.`a b`.t.
func ParseName(text string) ([]string, error) {
	p := newParser(text, Parameters{})
	name := p.name()
	p.end()
	return name, p.failure()
}

// failure is what went wrong: syntax before everything else.
func (p *parser) failure() error {
	p.unknownWindows()
	switch {
	case p.err != nil:
		return p.err
	case p.fault != nil:
		return p.fault
	default:
		return nil
	}
}

// cur is the token to read next, peek the n-th behind it.
func (p *parser) cur() *token { return &p.toks[p.i] }

func (p *parser) peek(n int) *token { return &p.toks[min(p.i+n, len(p.toks)-1)] }

// prev is the last token that was read.
func (p *parser) prev() *token { return &p.toks[max(p.i-1, 0)] }

// at reports whether the next token is a keyword or symbol, ahead whether the
// next tokens are these.
func (p *parser) at(word string) bool { return p.toks[p.i].word == word }

func (p *parser) ahead(words ...string) bool {
	for n, w := range words {
		if p.peek(n).word != w {
			return false
		}
	}
	return true
}

func (p *parser) atAny(words ...string) bool {
	w := p.toks[p.i].word
	if w == "" {
		return false
	}
	for _, o := range words {
		if w == o {
			return true
		}
	}
	return false
}

// skip reads n tokens that were looked at.
func (p *parser) skip(n int) { p.i = min(p.i+n, len(p.toks)-1) }

func (p *parser) accept(word string) bool {
	if p.at(word) {
		p.skip(1)
		return true
	}
	return false
}

// acceptAll reads the words if all of them are next.
func (p *parser) acceptAll(words ...string) bool {
	if p.ahead(words...) {
		p.skip(len(words))
		return true
	}
	return false
}

// expect reads a word that must be next. A token too many before it is called
// so, as Spark does.
func (p *parser) expect(word string) {
	if p.accept(word) || p.err != nil {
		return
	}
	p.syntaxBefore(word, false)
}

// syntaxBefore ends reading where word should stand. A token that stands there
// too many is called extra. With missable, Spark calls the word missing when
// the token could stand behind it.
func (p *parser) syntaxBefore(word string, missable bool) {
	switch t := p.cur(); {
	case p.peek(1).word == word:
		p.syntax("extra")
	case missable && t.kind != tokEnd && (t.isName() || t.kind == tokSymbol):
		p.syntax("missing '" + word + "'")
	default:
		p.syntax("")
	}
}

// expectMissable reads a word that Spark calls missing when it is.
func (p *parser) expectMissable(word string) {
	if !p.accept(word) && p.err == nil {
		p.syntaxBefore(word, true)
	}
}

// closeList reads the ")" behind n items. Behind several, whatever stands there
// instead is called extra.
func (p *parser) closeList(n int) {
	switch {
	case p.accept(")") || p.err != nil:
	case n > 1 || p.peek(1).word == ",":
		p.syntax("extra")
	default:
		p.syntaxBefore(")", false)
	}
}

func (p *parser) expectAll(words ...string) {
	for _, w := range words {
		p.expect(w)
	}
}

// close reads a ")" behind which the text may end; Spark names it when it is
// missing there.
func (p *parser) close() {
	if p.cur().kind == tokEnd && p.err == nil {
		p.syntax("missing ')'")
		return
	}
	p.expect(")")
}

// list reads items between commas.
func (p *parser) list(item func()) {
	item()
	for p.accept(",") {
		item()
	}
}

// parenthesised reads items between commas and in parentheses.
func (p *parser) parenthesised(item func()) {
	p.expect("(")
	p.list(item)
	p.close()
}

// enter goes one level down; leave must follow it.
func (p *parser) enter() bool {
	p.depth++
	if p.depth <= maxDepth || p.err != nil {
		return p.err == nil
	}
	p.fail(&plan.Error{
		Condition: "FAILED_TO_PARSE_TOO_COMPLEX",
		Msg: "The statement nests deeper than " + strconv.Itoa(maxDepth) +
			" levels; split it with common table expressions or views.",
	}, *p.cur())
	return false
}

func (p *parser) leave() { p.depth-- }

// end demands the end of the text.
func (p *parser) end() {
	if p.cur().kind == tokEnd {
		return
	}
	if p.peek(1).kind == tokEnd {
		p.syntax("extra")
		return
	}
	p.syntax("")
}

// endStatement demands the end of the text, perhaps after semicolons.
func (p *parser) endStatement() {
	if !p.at(";") {
		if p.peek(1).word == ";" && p.cur().kind != tokEnd {
			p.syntax("extra")
			return
		}
		p.end()
		return
	}
	for p.accept(";") {
	}
	if p.cur().kind != tokEnd {
		p.syntax("extra")
	}
}

// syntax ends reading: the next token should not stand there. what is "extra"
// for a token too many, "missing ')'" for one that is not there.
func (p *parser) syntax(what string) {
	t := *p.cur()
	near, hint := "end of input", ""
	if t.kind != tokEnd {
		near = "'" + p.text[t.start:t.end] + "'"
	}
	switch what {
	case "":
	case "extra":
		hint = ": extra input " + near
	default:
		hint = ": " + what
	}
	e := &plan.Error{
		Condition: "PARSE_SYNTAX_ERROR",
		Msg:       "The text does not parse at " + near + hint + ".",
		Args:      map[string]string{"error": near, "hint": hint},
	}
	p.fail(e, t)
}

// fail ends reading with an error at a token. The place has no extent: it says
// where reading ended, not what is wrong.
func (p *parser) fail(e *plan.Error, at token) {
	if p.err != nil {
		return
	}
	e.Class, e.State = plan.ClassParse, plan.SQLState(e.Condition)
	if e.Args == nil {
		e.Args = map[string]string{}
	}
	e.Origin = &plan.Origin{SQL: p.text, Start: int(at.start), Stop: int(at.start),
		Line: int(at.line), Pos: int(at.pos)}
	p.err = e
	p.i = len(p.toks) - 1
}

// mistake keeps an error about what was read from token number start on.
func (p *parser) mistake(start int, condition, msg string, args ...string) {
	p.keep(start, plan.NewError(plan.ClassParse, condition, msg, args...))
}

// refuse keeps that something is not supported.
func (p *parser) refuse(start int, what string) { p.keep(start, plan.Unsupported(what)) }

func (p *parser) keep(start int, e *plan.Error) {
	if p.fault == nil && p.err == nil {
		p.fault = e.At(p.origin(start))
	}
}

// origin is the place of what was read from token number start on.
func (p *parser) origin(start int) *plan.Origin {
	if len(p.places) == cap(p.places) {
		p.places = make([]plan.Origin, 0, max(8, min(len(p.toks), 64)))
	}
	t, stop := &p.toks[start], int(p.prev().end)
	if stop < int(t.start) {
		stop = int(t.start)
	}
	p.places = append(p.places, plan.Origin{SQL: p.text, Start: int(t.start), Stop: stop,
		Line: int(t.line), Pos: int(t.pos)})
	return &p.places[len(p.places)-1]
}

// source is the text from token number start to what was read last.
func (p *parser) source(start int) string {
	return p.text[p.toks[start].start:max(p.prev().end, p.toks[start].start)]
}
