/** A pod as people call it: the namespace `default` goes without saying. */
export const podName = (name: string): string => name.replace(/^default\//, '');

/** `0.4s`, `10.6s`, `3m 05s`, `2h 10m`. */
export function durationText(ms: number): string {
  const tenths = Math.max(0, Math.round(ms / 100));
  if (tenths < 1200) return `${(tenths / 10).toFixed(1)}s`;
  const seconds = Math.round(tenths / 10);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`;
}
