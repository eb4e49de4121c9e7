/** Whether the platform's time zone tables know the name, written as they write it. */
export function isKnownTimeZone(name: string): boolean {
  // The tables of Kubernetes are files: `asia/tokyo` is none of them, and an offset is no zone.
  if (!name.split('/').every((part) => /^[A-Z]/.test(part))) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
