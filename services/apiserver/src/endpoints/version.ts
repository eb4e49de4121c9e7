/** Clients read the API version here; `gitVersion` names the server. */
export const VERSION = Object.freeze({
  major: '1',
  minor: '32',
  gitVersion: 'v1.32.0+holdfast.0.1.0',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '2025-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'typescript',
  platform: 'node/any',
});
