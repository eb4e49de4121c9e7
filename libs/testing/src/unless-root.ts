/**
 * The `skip` option of a test that needs root privileges, for example to mount a file system. Returns the reason, or
 * `false` for root.
 *
 *     test('a full disk is reported', { skip: unlessRoot() }, () => { ... });
 */
export function unlessRoot(): string | false {
  return process.getuid?.() === 0 ? false : 'needs root: run the tests as root';
}
