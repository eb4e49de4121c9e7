import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from '@holdfast/api';
import type { SharedInformers } from './context.ts';
import { type CustomKindRef, KindPool, type KindPoolDeps } from './kind-pool.ts';

/** Returns the reference of a definition's kind; `undefined` while it is not served. */
export function customKindOf({ spec, status }: Readonly<CustomResourceDefinition>): CustomKindRef | undefined {
  const isServed = (status.conditions ?? []).some((each) => each.type === 'Established' && each.status === 'True');
  const served = spec.versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (!isServed || version === undefined) return undefined;
  const { plural, kind } = status.acceptedNames;
  const versions = served.map(({ name }) => name);
  return { group: spec.group, version: version.name, kind, plural, namespaced: spec.scope === 'Namespaced', versions };
}

export interface CustomKindsDeps extends KindPoolDeps {
  readonly informers: SharedInformers;
}

/** The kinds that definitions add. */
export class CustomKindPool extends KindPool {
  readonly #informers: SharedInformers;
  #unsubscribe: () => void = () => {};

  constructor(deps: CustomKindsDeps) {
    super(deps);
    this.#informers = deps.informers;
  }

  /** Called once the definitions are known. */
  start(): void {
    const definitions = this.#informers.of(CUSTOM_RESOURCE_DEFINITIONS);
    for (const crd of definitions.list()) this.put(crd.metadata.name ?? '', customKindOf(crd));
    this.#unsubscribe = definitions.onChange(({ key, object }) =>
      this.put(key, object === undefined ? undefined : customKindOf(object)),
    );
  }

  override async stop(): Promise<void> {
    this.#unsubscribe();
    await super.stop();
  }
}
