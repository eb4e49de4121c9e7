import type { Random } from '@holdfast/platform';

export interface PortFaults {
  /** Only these calls fail. */
  readonly methods: readonly string[];
  /** The probability that a call is refused, and that it is executed although its caller gets an error. */
  readonly share: (method: string) => number;
  readonly random: Random;
  readonly error: (method: string, isDone: boolean) => Error;
}

/** A port whose calls fail at random, before or after they took effect. */
export function failingPort<T extends object>(port: T, { methods, share, random, error }: PortFaults): T {
  const fails = new Set(methods);
  return new Proxy(port, {
    get: (target, name): unknown => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      const call = (...given: unknown[]): unknown => Reflect.apply(member, target, given);
      if (!fails.has(String(name))) return call;
      return async (...given: unknown[]) => {
        if (random.float() < share(String(name))) throw error(String(name), false);
        const result = await call(...given);
        if (random.float() < share(String(name))) throw error(String(name), true);
        return result;
      };
    },
  });
}
