# Runs one program, and sees to it that the program does not outlive the test process.
#
#   $1      the folder to remove once the test process is gone
#   $2 ...  the program and its arguments
#   stdin   a pipe from the test process, which never writes: the end of it is the news
#   stdout  one line for the test process: the process id of the program
#   stderr  the output of the program
#   fd 3    the lock on the folder; ours to hold, not the program's

folder=$1
shift
exec 4<&0
"$@" </dev/null >&2 3<&- 4<&- &
program=$!
echo "$program"
exec >/dev/null

(
	read -r _ <&4
	trap '' TERM
	# Again and again, because a program that has only just started still ignores the signal. SIGCONT
	# wakes a server that a test has paused: the program and its children, which do all the work.
	rounds=0
	while kill -QUIT "$program" 2>/dev/null; do
		ps -A -o pid= -o ppid= | while read -r pid parent; do
			if [ "$pid" = "$program" ] || [ "$parent" = "$program" ]; then
				kill -CONT "$pid" 2>/dev/null
			fi
		done
		rounds=$((rounds + 1))
		if [ "$rounds" -gt 20 ]; then kill -KILL "$program" 2>/dev/null; fi
		sleep 1
	done
	rm -rf "$folder"
) &
watcher=$!

wait "$program"
status=$?
# Has no effect once the watcher is at work.
kill -TERM "$watcher" 2>/dev/null
exit "$status"
