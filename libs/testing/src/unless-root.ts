/**
 * For the option `skip` of a test that needs the rights of root, such as to mount a file system: the reason, or `false` for root.
 *
 *     test('a full disk is reported', { skip: unlessRoot() }, () => { ... });
 */
export function unlessRoot(): string | false {
  return process.getuid?.() === 0 ? false : 'needs root: run the tests as root';
}
