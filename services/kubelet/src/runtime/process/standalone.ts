/* oxlint-disable no-restricted-globals -- for main programs of their own: they may import nothing but Node's builtins and their neighbours, and are given the machine's clock here. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import type { Clock, Timer } from '@holdfast/platform';

/** Closes inherited descriptors: otherwise every process of every pod would have them. */
export function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor > 2 && isInherited(name)) closeSync(descriptor);
  }
}

/** Whatever this program opens itself is closed in its children (`O_CLOEXEC`). */
function isInherited(name: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    // The one through which the list was read.
    return false;
  }
}

const O_CLOEXEC = 0o2000000;

/** False: another process has this address. */
export function bindLock(lock: Server, address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    lock.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    lock.listen(address, () => resolve(true));
  });
}

const timer = (delayMs: number, fire: () => void): Timer => {
  const handle = setTimeout(fire, Math.max(0, delayMs));
  return { cancel: () => clearTimeout(handle) };
};

export const machineClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer,
  sleep: (delayMs) => new Promise((resolve) => timer(delayMs, resolve)),
};
