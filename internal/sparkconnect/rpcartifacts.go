package sparkconnect

import (
	"context"
	"errors"
	"hash/crc32"
	"io"

	"google.golang.org/grpc"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/artifact"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// ArtifactStatus says which artifacts the session has already.
func (s *Server) ArtifactStatus(_ context.Context, r *pb.ArtifactStatusesRequest,
) (*pb.ArtifactStatusesResponse, error) {
	c, err := s.client(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.ArtifactStatusesResponse, error) {
		out := &pb.ArtifactStatusesResponse{
			SessionId: c.key.id, ServerSideSessionId: c.serverID,
			Statuses: map[string]*pb.ArtifactStatusesResponse_ArtifactStatus{},
		}
		for _, name := range r.GetNames() {
			out.Statuses[name] = &pb.ArtifactStatusesResponse_ArtifactStatus{
				Exists: c.session.Artifacts().Has(name)}
		}
		return out, nil
	})
}

// AddArtifacts receives files, whole or in chunks one after the other.
func (s *Server) AddArtifacts(
	from grpc.ClientStreamingServer[pb.AddArtifactsRequest, pb.AddArtifactsResponse],
) error {
	first, err := from.Recv()
	if err != nil {
		return err
	}
	c, err := s.client(first)
	if err != nil {
		return statusOf(err, nil)
	}
	out, err := answer(s, c, func() (*pb.AddArtifactsResponse, error) {
		u := &upload{to: c.session.Artifacts(), out: &pb.AddArtifactsResponse{
			SessionId: c.key.id, ServerSideSessionId: c.serverID}}
		defer u.abandon()
		for r := first; ; {
			if err := u.take(r); err != nil {
				return nil, err
			}
			if r, err = from.Recv(); errors.Is(err, io.EOF) {
				return u.out, u.finish()
			} else if err != nil {
				return nil, err
			}
		}
	})
	if err != nil {
		return err
	}
	return from.SendAndClose(out)
}

// upload is an AddArtifacts stream at work: at most one artifact is open.
type upload struct {
	to  *artifact.Store
	out *pb.AddArtifactsResponse

	open    *artifact.Writer
	name    string
	expect  int64 // chunks of the open artifact still to come
	intact  bool  // every checksum of it agreed
	missing int64 // bytes of it still to come
}

func (u *upload) take(r *pb.AddArtifactsRequest) error {
	switch p := r.GetPayload().(type) {
	case *pb.AddArtifactsRequest_Batch_:
		if u.open != nil {
			return badUpload("a batch arrived while " + u.name + " was incomplete")
		}
		for _, a := range p.Batch.GetArtifacts() {
			if err := u.begin(a.GetName(), 1, int64(len(a.GetData().GetData())), a.GetData()); err != nil {
				return err
			}
		}
		return nil
	case *pb.AddArtifactsRequest_BeginChunk:
		if u.open != nil {
			return badUpload("a second artifact began while " + u.name + " was incomplete")
		}
		b := p.BeginChunk
		return u.begin(b.GetName(), b.GetNumChunks(), b.GetTotalBytes(), b.GetInitialChunk())
	case *pb.AddArtifactsRequest_Chunk:
		if u.open == nil {
			return badUpload("a chunk arrived that belongs to no artifact")
		}
		return u.chunk(p.Chunk)
	default:
		return notSet(r, "PAYLOAD_NOT_SET")
	}
}

func (u *upload) begin(name string, chunks, total int64, first *pb.AddArtifactsRequest_ArtifactChunk) error {
	if chunks < 1 || total < 0 {
		return badUpload("the sizes of " + name + " make no sense")
	}
	w, err := u.to.Create(name)
	if err != nil {
		return err
	}
	u.open, u.name, u.expect, u.intact, u.missing = w, name, chunks, true, total
	return u.chunk(first)
}

func (u *upload) chunk(c *pb.AddArtifactsRequest_ArtifactChunk) error {
	data := c.GetData()
	u.intact = u.intact && int64(crc32.ChecksumIEEE(data)) == c.GetCrc()
	u.expect--
	u.missing -= int64(len(data))
	if u.missing < 0 {
		return badUpload(u.name + " is longer than announced")
	}
	if _, err := u.open.Write(data); err != nil {
		return err
	}
	if u.expect > 0 {
		return nil
	}
	if u.missing > 0 {
		return badUpload(u.name + " is shorter than announced")
	}
	return u.complete()
}

// complete keeps the open artifact, unless a checksum of it was wrong: then the
// client is told and sends it again.
func (u *upload) complete() error {
	w := u.open
	u.open = nil
	u.out.Artifacts = append(u.out.Artifacts, &pb.AddArtifactsResponse_ArtifactSummary{
		Name: u.name, IsCrcSuccessful: u.intact})
	if !u.intact {
		return w.Abort()
	}
	return w.Commit()
}

func (u *upload) finish() error {
	if u.open != nil {
		return badUpload(u.name + " ended early")
	}
	return nil
}

// abandon drops an artifact that never became whole.
func (u *upload) abandon() {
	if u.open != nil {
		_ = u.open.Abort()
	}
}

func badUpload(why string) error {
	return plan.IllegalArgument("The artifacts cannot be taken: %s.", why)
}
