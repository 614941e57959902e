// The files of a folder from Go's net/http, over TLS.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	address, certificate, key, root := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	files := http.FileServer(http.Dir(root))
	log.Fatal(http.ListenAndServeTLS(address, certificate, key, files))
}
