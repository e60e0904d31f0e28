// Command sparkpb writes the Go bindings of the Spark Connect interface into internal/sparkpb.
//
// Its input is the descriptor set beside it, whose SHA-256 must match the file of that name. No protoc
// is involved: the two plugins that go.mod pins as tools get their request on standard input, exactly as
// protoc would send it. Run it with `make generate` after the set was replaced.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	importPath = "github.com/weir-dev/weir/internal/sparkpb"
	// ours is the folder of the set whose files are generated; the rest of the set (google/protobuf)
	// already has Go packages and is only referred to.
	ours = "spark/connect/"
)

// plugins are the tools of go.mod, one for messages and one for services.
var plugins = [...]string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	set := flag.String("set", "tools/sparkpb/spark_connect_4.3.0.binpb", "descriptor set; FILE.sha256 stands beside it")
	out := flag.String("out", "internal/sparkpb", "folder to write the bindings to")
	flag.Parse()
	if err := generate(*set, *out); err != nil {
		fmt.Fprintln(os.Stderr, "sparkpb:", err)
		os.Exit(1)
	}
}

// generate reads the set and writes one file per answer of each plugin into out. Files that are already
// there and have the same name are replaced, others are left alone.
func generate(set, out string) error {
	files, err := readSet(set)
	if err != nil {
		return err
	}
	input, err := proto.MarshalOptions{Deterministic: true}.Marshal(request(files))
	if err != nil {
		return fmt.Errorf("encode the plugin request: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, plugin := range plugins {
		answers, err := runPlugin(plugin, input)
		if err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
		for _, a := range answers {
			// The set holds one package, so its folders say nothing that a file name does not.
			name := filepath.Join(out, path.Base(a.GetName()))
			if err := os.WriteFile(name, []byte(a.GetContent()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSet refuses a set that is not the one whose digest was committed.
func readSet(name string) ([]*descriptorpb.FileDescriptorProto, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	line, err := os.ReadFile(name + ".sha256")
	if err != nil {
		return nil, err
	}
	want, _, _ := strings.Cut(string(line), " ")
	sum := sha256.Sum256(raw)
	if got := hex.EncodeToString(sum[:]); got != want {
		return nil, fmt.Errorf("%s has SHA-256 %s, expected %s", name, got, want)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("%s is no descriptor set: %w", name, err)
	}
	return set.GetFile(), nil
}

// request asks for our files and maps each to one Go package, over the go_package option they carry.
func request(files []*descriptorpb.FileDescriptorProto) *pluginpb.CodeGeneratorRequest {
	var wanted []string
	parameter := "paths=source_relative"
	for _, f := range files {
		if name := f.GetName(); strings.HasPrefix(name, ours) {
			wanted = append(wanted, name)
			parameter += fmt.Sprintf(",M%s=%s;%s", name, importPath, path.Base(importPath))
		}
	}
	return &pluginpb.CodeGeneratorRequest{
		FileToGenerate: wanted,
		Parameter:      &parameter,
		ProtoFile:      files,
	}
}

func runPlugin(name string, input []byte) ([]*pluginpb.CodeGeneratorResponse_File, error) {
	cmd := exec.Command("go", "tool", name)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	answer := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(output, answer); err != nil {
		return nil, fmt.Errorf("undecodable answer: %w", err)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("refused: %s", answer.GetError())
	}
	return answer.GetFile(), nil
}
