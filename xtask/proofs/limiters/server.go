// A small server with one limiter planted in it. Arguments: PORT PLANT STRENGTH BODY_BYTES.
package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

var (
	plant    = os.Args[2]
	strength = number(os.Args[3])
	body     = int(number(os.Args[4]))
	answer   = append([]byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", body)), bytes.Repeat([]byte("x"), body)...)
	kept     = make([]*node, 1<<18)
	mapped   []byte
)

type node struct {
	next *node
	text [4]uint64
}

func number(word string) float64 {
	value, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return value
}

//go:noinline
func spin(us float64) {
	for end := time.Now().Add(time.Duration(us * 1e3)); time.Now().Before(end); {
	}
}

//go:noinline
func waste(count float64) {
	for n := 0; n < int(count); n++ {
		at := rand.Intn(len(kept))
		kept[at] = &node{next: kept[(at+1)%len(kept)]}
		kept[at].next = nil
	}
}

// A lock of the kernel's: who waits for one of Go's own leaves his thread to others.
func locked(us float64) {
	file, err := os.Open(os.Getenv("FILE"))
	if err != nil {
		return
	}
	defer file.Close()
	syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	time.Sleep(time.Duration(us * 1e3))
}

func read(share float64) {
	if rand.Float64() >= share {
		return
	}
	file, err := syscall.Open(os.Getenv("FILE"), syscall.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		return
	}
	defer syscall.Close(file)
	all := make([]byte, 2*65536)
	start := 65536 - int(uintptr(unsafe.Pointer(&all[0]))%65536)
	syscall.Pread(file, all[start:start+65536], 65536*int64(rand.Intn(1000)))
}

func touch(share float64) {
	if rand.Float64() >= share {
		return
	}
	sum := byte(0)
	for n := 0; n < 8; n++ {
		sum += mapped[rand.Intn(len(mapped))]
	}
	kept[0] = &node{text: [4]uint64{uint64(sum)}}
}

func work() {
	switch plant {
	case "hot":
		spin(strength)
	case "lock":
		locked(strength)
	case "calls":
		for n := 0; n < int(strength); n++ {
			syscall.Getppid()
		}
	case "garbage":
		waste(strength)
	case "disk":
		read(strength)
	case "memory":
		touch(strength)
	}
}

func serve(client *net.TCPConn) {
	defer client.Close()
	client.SetNoDelay(plant != "nagle")
	request := make([]byte, 65536)
	for {
		count, err := client.Read(request)
		if err != nil {
			return
		}
		work()
		if plant == "nagle" {
			client.Write(answer[:20])
			client.Write(answer[20:])
		} else {
			client.Write(answer)
		}
		if bytes.Contains(request[:count], []byte("onnection: close")) {
			return
		}
	}
}

func main() {
	if plant == "memory" {
		file, _ := os.Open(os.Getenv("FILE"))
		size, _ := file.Seek(0, 2)
		mapped, _ = syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		go serve(client.(*net.TCPConn))
		if plant == "accept" {
			time.Sleep(time.Duration(strength * 1e3))
		}
	}
}
