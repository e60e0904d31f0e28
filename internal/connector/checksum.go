package connector

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Hadoop's local file system keeps .NAME.crc beside NAME: "crc\0", the block
// size and a CRC-32 of each block, all big-endian. weir keeps it too. It tells
// a flipped digit of an offset, which is valid JSON, from the truth, and Spark
// checks it when it takes the checkpoint over.
const (
	crcMagic  = "crc\x00"
	crcHeader = len(crcMagic) + 4
	crcBlock  = 512
)

// Checksums is what Hadoop would keep beside a file, in blocks of so many bytes.
func Checksums(data []byte, block int) []byte {
	sums := binary.BigEndian.AppendUint32([]byte(crcMagic), uint32(block))
	for part := range slices.Chunk(data, block) {
		sums = binary.BigEndian.AppendUint32(sums, crc32.ChecksumIEEE(part))
	}
	return sums
}

// WriteChecksum makes the checksum of a file that is durable already. It is
// not synced: one that a crash lost or tore does not count as one.
func WriteChecksum(fsys vfs.FS, name string, data []byte) error {
	f, err := fsys.Create(vfs.ChecksumName(name))
	if err != nil {
		return fmt.Errorf("write checksum of %s: %w", name, err)
	}
	_, err = f.Write(Checksums(data, crcBlock))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write checksum of %s: %w", name, err)
	}
	return nil
}

// ReadChecked reads a file and compares it with its checksum, if there is one.
func ReadChecked(fsys vfs.FS, name string) ([]byte, error) {
	data, err := vfs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	sums, err := vfs.ReadFile(fsys, vfs.ChecksumName(name))
	if err != nil || len(sums) < crcHeader || string(sums[:len(crcMagic)]) != crcMagic {
		return data, nil // none, or none that Hadoop would take for one
	}
	block := int(int32(binary.BigEndian.Uint32(sums[len(crcMagic):])))
	if block <= 0 || len(sums) != crcHeader+4*((len(data)+block-1)/block) {
		return data, checkTorn(name, data, sums)
	}
	if string(Checksums(data, block)) != string(sums) {
		return nil, checksumError(name)
	}
	return data, nil
}

// checkTorn judges a checksum of the wrong length: shorter ones may be torn,
// so the blocks they do have decide.
func checkTorn(name string, data, sums []byte) error {
	want := Checksums(data, crcBlock)
	if len(sums) < len(want) && string(want[:len(sums)]) == string(sums) {
		return nil
	}
	return checksumError(name)
}

func checksumError(name string) error {
	return &plan.Error{
		Class: "org.apache.hadoop.fs.ChecksumException",
		Msg:   fmt.Sprintf("%s does not fit its checksum file: one of them is damaged.", name),
		Hint:  "Restore the file from a copy, or remove its .crc file if it was edited on purpose.",
	}
}
