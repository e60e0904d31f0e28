package sparkconnect

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// recorder collects what one stream received.
type recorder struct {
	ctx  context.Context
	got  []*pb.ExecutePlanResponse
	fail error
}

func (c *recorder) Context() context.Context { return c.ctx }

func (c *recorder) Send(r *pb.ExecutePlanResponse) error {
	if c.fail != nil {
		return c.fail
	}
	c.got = append(c.got, r)
	return nil
}

func (c *recorder) texts() []string {
	var out []string
	for _, r := range c.got {
		out = append(out, r.SessionId)
	}
	return out
}

// response is recognized in the tests by its session id.
func response(text string) *pb.ExecutePlanResponse { return &pb.ExecutePlanResponse{SessionId: text} }

func emitAll(t *testing.T, o *operation, texts ...string) {
	t.Helper()
	for _, x := range texts {
		if err := o.emit(response(x)); err != nil {
			t.Fatal(err)
		}
	}
}

// listen attaches after a response and serves until the stream ends.
func listen(o *operation, c *recorder, after string) error {
	s := &attachment{}
	if err := o.attach(s, after); err != nil {
		return err
	}
	return o.serve(c, s)
}

func conditionOf(err error) string {
	var e *plan.Error
	if errors.As(err, &e) {
		return e.Condition
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReattachContinuesAfterTheNamedResponse(t *testing.T) {
	o := newOperation(t.Context(), "op", true, limits{})
	emitAll(t, o, "a", "b", "c")
	o.finish(nil)
	first := &recorder{ctx: t.Context()}
	if err := listen(o, first, ""); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"b", "c"}, {"c"}, nil} {
		again := &recorder{ctx: t.Context()}
		if err := listen(o, again, first.got[i].ResponseId); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again.texts()); diff != "" {
			t.Errorf("after response %d: %s", i+1, diff)
		}
	}
}

func TestReleasedResponsesCannotBeHadAgain(t *testing.T) {
	o := newOperation(t.Context(), "op", true, limits{})
	emitAll(t, o, "a", "b", "c")
	c := &recorder{ctx: t.Context()}
	o.finish(nil)
	if err := listen(o, c, ""); err != nil {
		t.Fatal(err)
	}
	o.releaseUntil(c.got[1].ResponseId)
	o.releaseUntil(c.got[0].ResponseId) // late and in the wrong order
	o.releaseUntil("never there")
	for _, x := range []struct{ after, want string }{
		{"", "INVALID_CURSOR.POSITION_NOT_AVAILABLE"},
		{c.got[0].ResponseId, "INVALID_CURSOR.POSITION_NOT_AVAILABLE"},
		{c.got[1].ResponseId, ""},
		{"never there", "INVALID_CURSOR.POSITION_NOT_FOUND"},
	} {
		if got := conditionOf(listen(o, &recorder{ctx: t.Context()}, x.after)); got != x.want {
			t.Errorf("reattach after %.8q: %q, want %q", x.after, got, x.want)
		}
	}
}

func TestNewerStreamTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperation(t.Context(), "op", true, limits{})
		emitAll(t, o, "a")
		old, ended := &recorder{ctx: t.Context()}, make(chan error, 1)
		go func() { ended <- listen(o, old, "") }()
		synctest.Wait()
		newer, done := &recorder{ctx: t.Context()}, make(chan error, 1)
		go func() { done <- listen(o, newer, "") }()
		if got := conditionOf(<-ended); got != "INVALID_CURSOR.DISCONNECTED" {
			t.Errorf("the older stream ended with %q", got)
		}
		emitAll(t, o, "b")
		o.finish(nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a", "b"}, newer.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStreamIsCutByTimeAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperation(t.Context(), "op", true, limits{streamDuration: time.Second})
		var all []string
		after := ""
		go func() {
			for _, x := range strings.Split("a b c d e", " ") {
				time.Sleep(700 * time.Millisecond)
				emitAll(t, o, x)
			}
			o.finish(nil)
		}()
		cuts := 0
		for len(all) < 5 {
			c := &recorder{ctx: t.Context()}
			if err := listen(o, c, after); err != nil {
				t.Fatal(err)
			}
			cuts++
			if n := len(c.got); n > 0 {
				after = c.got[n-1].ResponseId
			}
			all = append(all, c.texts()...)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, all); diff != "" || cuts < 3 {
			t.Errorf("%d streams: %s", cuts, diff)
		}
	})
}

func TestStreamIsCutBySize(t *testing.T) {
	o := newOperation(t.Context(), "op", true, limits{streamBytes: 100})
	emitAll(t, o, strings.Repeat("x", 80), strings.Repeat("y", 80), "z")
	o.finish(nil)
	c := &recorder{ctx: t.Context()}
	if err := listen(o, c, ""); err != nil || len(c.got) != 1 {
		t.Errorf("first stream: %d responses, %v", len(c.got), err)
	}
}

func TestProducerWaitsForASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperation(t.Context(), "op", true, limits{retryBytes: 1000})
		emitted := 0
		go func() {
			for range 100 {
				if o.emit(response(strings.Repeat("x", 100))) != nil {
					return
				}
				emitted++
			}
			o.finish(nil)
		}()
		synctest.Wait()
		if emitted < 5 || emitted > 12 {
			t.Errorf("%d responses were made before anybody listened", emitted)
		}
		c := &recorder{ctx: t.Context()}
		if err := listen(o, c, ""); err != nil || len(c.got) != 100 {
			t.Errorf("%d responses, %v", len(c.got), err)
		}
		synctest.Wait()
		if o.kept > 1200 || len(o.log) > 12 {
			t.Errorf("%d bytes of sent responses are kept", o.kept)
		}
	})
}

func TestInterruptFreesAWaitingProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperation(t.Context(), "op", true, limits{retryBytes: 10})
		result := make(chan error, 1)
		go func() {
			var err error
			for err == nil {
				err = o.emit(response("xxxxxxxxxxxxxxxxxxxx"))
			}
			result <- err
		}()
		synctest.Wait()
		o.interrupt(operationCanceled())
		if got := conditionOf(<-result); got != "OPERATION_CANCELED" {
			t.Errorf("got %q", got)
		}
	})
}

func TestGoneClientKeepsAReattachableOperationAndEndsAnother(t *testing.T) {
	for _, reattachable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := newOperation(t.Context(), "op", reattachable, limits{})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- listen(o, &recorder{ctx: ctx}, "") }()
			synctest.Wait()
			cancel()
			<-ended
			if running := o.ctx.Err() == nil; running != reattachable {
				t.Errorf("reattachable %t: still running is %t", reattachable, running)
			}
			if o.abandoned(time.Now()) || !o.abandoned(time.Now().Add(5*time.Minute)) {
				t.Error("not abandoned after exactly five minutes")
			}
			o.cancel(nil)
		})
	}
}

func TestErrorEndsEveryStream(t *testing.T) {
	o := newOperation(t.Context(), "op", true, limits{})
	emitAll(t, o, "a")
	o.finish(plan.NewError(plan.ClassArithmetic, "DIVIDE_BY_ZERO", "x"))
	for range 2 {
		c := &recorder{ctx: t.Context()}
		if got := conditionOf(listen(o, c, "")); got != "DIVIDE_BY_ZERO" || len(c.got) != 1 {
			t.Errorf("%d responses, then %q", len(c.got), got)
		}
	}
}

func TestOnlyTheCompletionStaysOfWhatIsNotSent(t *testing.T) {
	o := newOperation(t.Context(), "op", true, limits{})
	emitAll(t, o, "a")
	s := &attachment{}
	if err := o.attach(s, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := o.next(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	emitAll(t, o, "b")
	completion := response("end")
	completion.ResponseType = &pb.ExecutePlanResponse_ResultComplete_{
		ResultComplete: &pb.ExecutePlanResponse_ResultComplete{}}
	if err := o.emit(completion); err != nil {
		t.Fatal(err)
	}
	o.dropUnsent()
	o.finish(nil)
	c := &recorder{ctx: t.Context()}
	if err := listen(o, c, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "end"}, c.texts()); diff != "" {
		t.Error(diff)
	}
}

func TestTakenMeansThatTheClientHasLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(o *operation) time.Duration {
			began := time.Now()
			o.awaitTaken(time.Second)
			return time.Since(began)
		}
		plain := newOperation(t.Context(), "plain", false, limits{})
		kept := newOperation(t.Context(), "kept", true, limits{})
		for _, o := range []*operation{plain, kept} {
			emitAll(t, o, "a")
			o.finish(nil)
			s := &attachment{}
			if err := o.attach(s, ""); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(200*time.Millisecond, func() { o.detach(s) })
		}
		if took := wait(plain); took != 200*time.Millisecond {
			t.Errorf("waited %v for a stream that ended after 200ms", took)
		}
		time.AfterFunc(100*time.Millisecond, kept.forget)
		if took := wait(kept); took != 100*time.Millisecond {
			t.Errorf("waited %v for a client that let go after 100ms", took)
		}
		silent := newOperation(t.Context(), "silent", true, limits{})
		silent.finish(nil)
		if took := wait(silent); took != time.Second {
			t.Errorf("waited %v for a client that never lets go", took)
		}
	})
}

// A client lets go of a response when it asks for the next one.
func TestSettledWaitsForTheClientToLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperation(t.Context(), "op", true, limits{})
		emitAll(t, o, "a", "b")
		if !o.settled(t.Context(), time.Second) {
			t.Error("a client that has never let go of anything is waited for")
		}
		c := &recorder{ctx: t.Context()}
		go func() { _ = listen(o, c, "") }()
		synctest.Wait()
		o.releaseUntil(c.got[0].ResponseId)
		if o.settled(t.Context(), time.Second) {
			t.Error("settled before the client let go of the last response")
		}
		go func() {
			time.Sleep(500 * time.Millisecond)
			o.releaseUntil(c.got[1].ResponseId)
		}()
		if !o.settled(t.Context(), time.Second) {
			t.Error("not settled though the client let go")
		}
		o.finish(nil)
	})
}
