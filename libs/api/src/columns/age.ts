import { parseTime } from '@holdfast/platform';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Formats the time since `time` as kubectl does; `<unknown>` without a time. */
export function ageOf(time: string | null | undefined, now: number): string {
  const at = time === undefined || time === null ? undefined : parseTime(time);
  return at === undefined ? '<unknown>' : humanDuration(now - at);
}

/** `45s`, `3m20s`, `7h5m`, `3d4h`, `2y10d`: longer durations show fewer details. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / SECOND);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(milliseconds / MINUTE);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  return hoursText(Math.trunc(milliseconds / HOUR), minutes);
}

function hoursText(hours: number, minutes: number): string {
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 8) return pair(days, 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return hours < 24 * 365 * 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`;
}

const pair = (major: number, majorUnit: string, minor: number, minorUnit: string): string =>
  minor === 0 ? `${major}${majorUnit}` : `${major}${majorUnit}${minor}${minorUnit}`;
