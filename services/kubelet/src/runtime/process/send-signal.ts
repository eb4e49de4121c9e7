/**
 * ESRCH: it ended by itself in between. EPERM: it took the rights of another user (`sudo` in a pod of a node without
 * root). Nothing more can be done with it, and it must not keep the signal from others: whoever waits for its end sees
 * that it lives. A negative number is a group.
 */
export function sendSignal(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error;
  }
}
