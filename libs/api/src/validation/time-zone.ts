/** True when the platform's time zone database contains exactly this name. */
export function isKnownTimeZone(name: string): boolean {
  // Kubernetes' time zones are files: `asia/tokyo` is not one of them, and an offset is not a zone.
  if (!name.split('/').every((part) => /^[A-Z]/.test(part))) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
