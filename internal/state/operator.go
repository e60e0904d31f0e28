package state

import (
	"encoding/json"
	"path"
	"strconv"
)

// Operator is a stateful operator as a checkpoint names it, in Spark's form, in
// state/ID/_metadata/metadata. Checkpoints of Spark before 4.0 name none.
type Operator struct {
	Info   OperatorInfo `json:"operatorInfo"`
	Stores []StoreInfo  `json:"stateStoreInfo"`
	// Properties is JSON that the operator says of itself, "" for nothing.
	Properties string `json:"operatorPropertiesJson,omitempty"`
}

// OperatorInfo is the number and the name of an operator.
type OperatorInfo struct {
	ID   int    `json:"operatorId"`
	Name string `json:"operatorName"`
}

// StoreInfo is one of Spark's state stores of an operator.
type StoreInfo struct {
	Name          string `json:"storeName"`
	PrefixColumns int    `json:"numColsPrefixKey"`
	Partitions    int    `json:"numPartitions"`
}

// operatorHead is the first line of the file, its version.
const operatorHead = "v1\n"

// OperatorFile is where the operator of a number is named, below the directory
// state of a checkpoint.
func OperatorFile(dir string, id int) string {
	return path.Join(dir, strconv.Itoa(id), "_metadata", "metadata")
}

// Encode is the bytes of the file.
func (o Operator) Encode() []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // names and numbers
	}
	return append([]byte(operatorHead), data...)
}

// ParseOperator reads what follows the first line of the file.
func ParseOperator(body string) (Operator, error) {
	var o Operator
	err := json.Unmarshal([]byte(body), &o)
	return o, err
}

// Partitions is how many partitions Spark divides the operator's rows into.
func (o Operator) Partitions() int {
	if len(o.Stores) == 0 {
		return 1
	}
	return o.Stores[0].Partitions
}
