# Prepares the servers in which limiters are planted. Arguments: the FOLDER that they are prepared in, and that of their SOURCES.
set -eu
cp -r "$2" "$1"
cd "$1"
GOCACHE=$PWD/cache GO111MODULE=off go build -o server server.go
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2> /dev/null
