import { parseDuration, parseQuantity, QuantityError, value } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import type { LogLimits } from './runtime/log-limits.ts';

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
    kind: 'string',
    help: 'time between looks at how long logs are',
    default: '10s',
  },
} as const;

interface LogTexts {
  readonly 'container-log-max-size': string;
  readonly 'container-log-max-files': number;
  readonly 'container-log-monitor-interval': string;
}

export function readLogFlags(texts: LogTexts): LogLimits {
  return {
    maxBytes: positive('container-log-max-size', texts, bytesOf, 'a size like 10Mi'),
    maxFiles: texts['container-log-max-files'],
    checkMs: positive('container-log-monitor-interval', texts, parseDuration, 'a time like 10s'),
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

function positive(
  flag: 'container-log-max-size' | 'container-log-monitor-interval',
  texts: LogTexts,
  read: (text: string) => number | undefined,
  wanted: string,
): number {
  const found = read(texts[flag]);
  if (found !== undefined && found > 0) return found;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--${flag} takes ${wanted}, not "${texts[flag]}"`,
    nextStep: 'Write it as in the kubelet configuration of Kubernetes, or leave it out.',
    exitCode: 2,
  });
}
