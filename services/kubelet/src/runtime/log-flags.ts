import { parseQuantity, QuantityError, value } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import type { LogLimits } from './log-limits.ts';

/** Kubernetes' `containerLogMaxSize`, `containerLogMaxFiles` and `containerLogMonitorInterval`. */
export const LOG_SETTINGS = {
  'container-log-max-size': {
    kind: 'string',
    help: 'how long the log of a container gets before a new part begins; logs shows the present part',
    default: '10Mi',
  },
  'container-log-max-files': {
    kind: 'integer',
    help: 'how many parts of a log are kept, with the present one',
    default: 5,
    min: 2,
  },
  'container-log-monitor-interval': {
    kind: 'duration',
    help: 'time between looks at how long logs are',
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
