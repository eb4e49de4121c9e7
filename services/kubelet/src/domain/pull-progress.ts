import type { PullProgress } from '../runtime/port-images.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** As Go writes a duration that is cut to milliseconds: `345ms`, `2.5s`, `1m2.345s`. */
export function pullDuration(ms: number): string {
  const whole = Math.max(0, Math.trunc(ms));
  if (whole === 0) return '0s';
  if (whole < SECOND) return `${whole}ms`;
  const hours = Math.floor(whole / HOUR);
  const minutes = Math.floor((whole % HOUR) / MINUTE);
  const seconds = `${(whole % MINUTE) / SECOND}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

const MEGABYTE = 1_000_000;
const megabytes = (bytes: number): string => (bytes / MEGABYTE).toFixed(1);

/** How far a pull is, after a time; without figures where the runtime gives none. */
export function pullProgressText(image: string, elapsedMs: number, progress: PullProgress | undefined): string {
  const since = `Still pulling image ${image} after ${pullDuration(Math.round(elapsedMs / SECOND) * SECOND)}`;
  if (progress === undefined || progress.layers === 0) return since;
  const { bytes, totalBytes, layers, layersDone } = progress;
  return `${since}: ${layersDone} of ${layers} layers, ${megabytes(bytes)} of ${megabytes(totalBytes)} MB`;
}
