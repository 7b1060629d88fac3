/** Where the ConfigMap with code and stdin is mounted. */
export const CODE_FOLDER = '/code';
/** Where the output is kept until it is reported. */
export const OUTPUT_FOLDER = '/out';

/** What begins the lines around a report. */
const MARK = 'svc-sandbox-report';

/**
 * What the container runs, for any POSIX shell with coreutils or busybox: `sh -c <script> sandbox <bytes> <seconds> <command…>`. It is
 * process 1. A pod's log does not tell stdout from stderr, so both go to files first, and the log holds one report of them, as
 * base64. Before it is written every other process is killed, so that what the report says is the script's word.
 */
export const RUN_SCRIPT = `
bytes=$1 seconds=$2; shift 2
ulimit -c 0
(exec "$@" <${CODE_FOLDER}/stdin >${OUTPUT_FOLDER}/stdout 2>${OUTPUT_FOLDER}/stderr) &
child=$!
(sleep "$seconds"; : >${OUTPUT_FOLDER}/timeout; kill -9 "$child") >/dev/null 2>&1 &
wait "$child" 2>/dev/null
code=$?
kill -9 -1 2>/dev/null
[ -e ${OUTPUT_FOLDER}/timeout ] && code=timeout
echo; echo "${MARK} stdout $code"
head -c "$bytes" ${OUTPUT_FOLDER}/stdout | base64
echo "${MARK} stderr"
head -c "$bytes" ${OUTPUT_FOLDER}/stderr | base64
echo "${MARK} end"
exit 0`;

/** What a report tells. */
export interface RunReport {
  /** `timeout`: the script ended the code for its time. */
  readonly exitCode: number | 'timeout';
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** The last whole report of a log: the code may have written lines that look like one. Undefined where there is none. */
export function parseReport(log: string): RunReport | undefined {
  const end = log.lastIndexOf(`\n${MARK} end`);
  const errorAt = end === -1 ? -1 : log.lastIndexOf(`\n${MARK} stderr\n`, end);
  const outputAt = errorAt === -1 ? -1 : log.lastIndexOf(`\n${MARK} stdout `, errorAt);
  if (outputAt === -1) return undefined;
  const codeAt = outputAt + `\n${MARK} stdout `.length;
  const lineEnd = log.indexOf('\n', codeAt);
  const code = log.slice(codeAt, lineEnd);
  if (code !== 'timeout' && !/^\d{1,3}$/.test(code)) return undefined;
  return {
    exitCode: code === 'timeout' ? code : Number(code),
    stdout: Buffer.from(log.slice(lineEnd, errorAt), 'base64'),
    stderr: Buffer.from(log.slice(errorAt + `\n${MARK} stderr\n`.length, end), 'base64'),
  };
}

/** The most bytes of a log that holds a report of so many bytes of stdout and as many of stderr. */
export function reportBytes(outputBytes: number): number {
  const base64 = Math.ceil(outputBytes / 3) * 4;
  // A line break after 76 characters, and the lines around.
  return 2 * (base64 + Math.ceil(base64 / 76)) + 4096;
}
