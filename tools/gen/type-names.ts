import type { Struct } from './swagger.ts';

/** `core.v1.Pod` -> `Pod`; where two packages share a name the later one is qualified: `EventsV1Event`. */
export function typeNames(structs: readonly Struct[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const struct of structs) {
    const name = taken.has(struct.shortName) ? qualified(struct) : struct.shortName;
    if (taken.has(name)) throw new Error(`two types would be called ${name}`);
    taken.add(name);
    names.set(struct.name, name);
  }
  return names;
}

function qualified(struct: Struct): string {
  const words = struct.package.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('') + struct.shortName;
}
