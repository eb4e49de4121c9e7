import type {
  AttachRequest,
  ContainerConfig,
  ExecResult,
  ExecStreamRequest,
  RuntimeErrorCode,
  SandboxConfig,
  SandboxStatus,
  TerminalSize,
} from '../port.ts';
import type { SandboxNetwork } from './sandbox-network.ts';

/** One JSON text per line in both directions. Requests may overlap; responses carry the request's id. */
export type ClientLine = { readonly id: number } & (Request | StreamRequest);

export type Request =
  | { readonly method: 'version' }
  /** Whether it enforces the node's deadline: an older version does not know this request. */
  | { readonly method: 'keepsDeadline' }
  | {
      readonly method: 'runSandbox';
      readonly config: SandboxConfig;
      readonly ip: string;
      readonly network?: SandboxNetwork | undefined;
    }
  | { readonly method: 'stopSandbox'; readonly sandbox: string; readonly graceMs: number }
  | { readonly method: 'removeSandbox'; readonly sandbox: string }
  | { readonly method: 'createContainer'; readonly sandbox: string; readonly config: ContainerConfig }
  | { readonly method: 'startContainer'; readonly container: string; readonly startBeforeMs?: number }
  | { readonly method: 'stopContainer'; readonly container: string; readonly graceMs: number }
  | { readonly method: 'removeContainer'; readonly container: string }
  | {
      readonly method: 'exec';
      readonly container: string;
      readonly command: readonly string[];
      readonly timeoutMs: number;
    }
  | { readonly method: 'list'; readonly podUid?: string }
  /** Stops everything, answers, and ends the supervisor. */
  | { readonly method: 'shutdown'; readonly graceMs: number };

/** The only request of its connection: after the answer both sides speak `stream-link.ts`. */
export type StreamRequest =
  | { readonly method: 'execStreams'; readonly container: string; readonly request: ExecStreamRequest }
  | { readonly method: 'attachStreams'; readonly container: string; readonly request: AttachRequest };

export type ExecOptions = Omit<ExecStreamRequest, 'command'>;

/** Numbers of the streams of a link. */
export const STREAM = { stdin: 0, stdout: 1, stderr: 2 } as const;

/** Messages of a link. The kubelet sends sizes, the supervisor the exit code. */
export type StreamMessage =
  | { readonly size: TerminalSize }
  | { readonly exitCode: number }
  | { readonly failed: { readonly code: RuntimeErrorCode; readonly message: string } };

export type SupervisorLine =
  | { readonly id: number; readonly result: RequestResult }
  | { readonly id: number; readonly error: { readonly code: RuntimeErrorCode; readonly message: string } }
  /** Something of this pod changed. */
  | { readonly changed: string };

/** The available streams of a stream request. */
export interface OpenedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export type RequestResult = OpenedStreams | string | null | readonly SandboxStatus[] | ExecResult;

/** Cuts a byte stream into lines and reads each as JSON. The peer is our own program: a bad line is an error, not input. */
export function createLineReader<Line>(
  maxBytes: number,
  onLine: (line: Line) => void,
): { push: (chunk: string) => void } {
  let pending = '';
  const push = (chunk: string): void => {
    pending += chunk;
    let end = pending.indexOf('\n');
    while (end >= 0) {
      onLine(decodeLine(pending.slice(0, end)));
      pending = pending.slice(end + 1);
      end = pending.indexOf('\n');
    }
    if (pending.length > maxBytes) throw new Error(`a line exceeds ${maxBytes} bytes`);
  };
  const decodeLine = (text: string): Line => JSON.parse(text) as Line;
  return { push };
}

/** The other end of a link is our own program. */
export const asStreamMessage = (message: unknown): StreamMessage => message as StreamMessage;

export function encodeLine(line: ClientLine | SupervisorLine): string {
  return `${JSON.stringify(line)}\n`;
}
