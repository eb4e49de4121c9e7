import type { ContainerRuntime } from './port.ts';

const NEEDS_DISK = new Set<string | symbol>([
  'runSandbox',
  'stopSandbox',
  'removeSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'list',
] satisfies (keyof ContainerRuntime)[]);
const WRITES_NEW = new Set<string | symbol>(['runSandbox', 'createContainer'] satisfies (keyof ContainerRuntime)[]);

/** A runtime as a kubelet meets it on a bad disk: `use` may take its time, and may reject with `RuntimeError`. */
export function runtimeOnDisk(runtime: ContainerRuntime, use: (isNew: boolean) => Promise<void>): ContainerRuntime {
  return new Proxy(runtime, {
    get: (of, name) => {
      const member: unknown = Reflect.get(of, name);
      if (typeof member !== 'function') return member;
      if (!NEEDS_DISK.has(name)) return member.bind(of);
      return async (...given: unknown[]): Promise<unknown> => {
        await use(WRITES_NEW.has(name));
        return Reflect.apply(member, of, given) as unknown;
      };
    },
  });
}

export const NO_ROOM = 'no space left on device';
