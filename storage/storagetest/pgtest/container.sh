# Runs the server of a container, and sees to it that the container does not outlive the test process.
#
#   $1 ...  the image's own entry point and its arguments
#   stdin   a stream from the test process, which never writes: the end of it is the news
#
# This is the container's first process: when it ends, the kernel ends all others, and the engine removes
# the container with its data.

exec 3<&0
"$@" </dev/null 3<&- &
server=$!

(
	read -r _ <&3
	kill -KILL "$server" 2>/dev/null
) &

wait "$server"
