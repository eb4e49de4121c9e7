import { parseQuantity, QuantityError, value } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import type { LogLimits } from './log-limits.ts';

/** Kubernetes' `containerLogMaxSize`, `containerLogMaxFiles` and `containerLogMonitorInterval`. */
export const LOG_SETTINGS = {
  'container-log-max-size': {
    kind: 'string',
    help: 'size of a container log at which it is rotated; kubectl logs shows the current part',
    default: '10Mi',
  },
  'container-log-max-files': {
    kind: 'integer',
    help: 'number of parts of a log to keep, including the current one',
    default: 5,
    min: 2,
  },
  'container-log-monitor-interval': {
    kind: 'duration',
    help: 'check interval of log sizes',
    default: '10s',
    min: '1ms',
  },
} as const;

interface LogTexts {
  readonly 'container-log-max-size': string;
  readonly 'container-log-max-files': number;
  readonly 'container-log-monitor-interval': number;
}

export function readLogFlags(texts: LogTexts): LogLimits {
  return {
    maxBytes: sizeOf(texts['container-log-max-size']),
    maxFiles: texts['container-log-max-files'],
    checkMs: texts['container-log-monitor-interval'],
  };
}

function bytesOf(text: string): number | undefined {
  try {
    return value(parseQuantity(text));
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

function sizeOf(text: string): number {
  const bytes = bytesOf(text);
  if (bytes !== undefined && bytes > 0) return bytes;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--container-log-max-size takes a size like 10Mi, not "${text}"`,
    nextStep: 'Write it as in the kubelet configuration of Kubernetes, or leave it out.',
    exitCode: 2,
  });
}
