import { invariant } from '@holdfast/platform/invariant';

/** A request line: the longest is `open` with a volume name, a token and a proof. */
export const LINE_BYTES_MAX = 512;
/** Of one read or write. */
export const PAYLOAD_BYTES_MAX = 1_048_576;
export const VOLUME_NAME_CHARS_MAX = 253;
/** A connection that has opened no volume by then is closed. */
export const OPEN_MS = 10_000;
/** A connection without a byte in either direction is closed. */
export const IDLE_MS = 300_000;
/** Equal failures are logged once in this time. */
export const FAILURE_REPORT_MS = 60_000;
export const FAILURE_KINDS_MAX = 1_000;
export const CONNECTIONS_DEFAULT = 256;
export const VOLUME_MIB_DEFAULT = 1_024;
export const VOLUMES_DEFAULT = 1_000;
/** Below this length a master key could be guessed. */
export const MASTER_KEY_CHARS_MIN = 32;
export const MASTER_KEY_CHARS_MAX = 4_096;

// Relations between limits. A violation fails every test of this service.
const TOKEN_AND_PROOF_CHARS = 16 + 64 + 'open   \n'.length;
invariant(VOLUME_NAME_CHARS_MAX + TOKEN_AND_PROOF_CHARS <= LINE_BYTES_MAX, 'every open request fits into a line');
invariant(OPEN_MS < IDLE_MS, 'a connection without a volume is closed before an idle one');
