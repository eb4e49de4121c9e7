import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { JsonObject } from '@holdfast/machinery';
import { decodeStored } from '../../verbs/decode-body.ts';
import { type Attributes, asSent } from './attributes.ts';
import { RequestValues, type ValueDeps } from './request-values.ts';

/** Shows an object in another version or group of its kind. */
export type Converter = (
  object: KubeObject,
  kinds: { readonly from: ResourceDefinition; readonly to: ResourceDefinition },
) => Promise<KubeObject>;

export interface ViewDeps extends ValueDeps {
  readonly convert: Converter;
}

/** A request with its objects in one version. */
export interface View {
  readonly attributes: Attributes;
  readonly values: RequestValues;
}

/** One request in every version that a webhook or a policy asks for. Each is converted once. */
export class Views {
  readonly #own: View;
  readonly #deps: ViewDeps;
  readonly #others = new Map<ResourceDefinition, Promise<View>>();

  constructor(attributes: Attributes, deps: ViewDeps) {
    this.#own = { attributes, values: new RequestValues(attributes, deps) };
    this.#deps = deps;
  }

  /** `undefined`: the version of the request. */
  in(definition: ResourceDefinition | undefined): View | Promise<View> {
    if (definition === undefined) return this.#own;
    const known = this.#others.get(definition);
    if (known !== undefined) return known;
    const view = this.#converted(definition);
    this.#others.set(definition, view);
    return view;
  }

  async #converted(to: ResourceDefinition): Promise<View> {
    const { definition, kind, object, oldObject } = this.#own.attributes;
    const own = { ...this.#own.attributes, definition: to, requested: { definition, kind } };
    // The representation of a subresource is the same in every version.
    if (!isOfKind(definition, kind)) return { attributes: own, values: new RequestValues(own, this.#deps) };
    const shown = (json: JsonObject | null): Promise<JsonObject> | null =>
      json === null ? null : this.#json(json, { from: definition, to });
    const attributes: Attributes = {
      ...own,
      kind: { group: to.group, version: to.version, kind: to.kind },
      object: await shown(object),
      oldObject: await shown(oldObject),
    };
    return { attributes, values: new RequestValues(attributes, this.#deps) };
  }

  async #json(json: JsonObject, kinds: Parameters<Converter>[1]): Promise<JsonObject> {
    return asSent(await this.#deps.convert(decoded(json, kinds.from), kinds), kinds.to);
  }
}

const isOfKind = (definition: ResourceDefinition, { group, kind }: Attributes['kind']): boolean =>
  definition.group === group && definition.kind === kind;

export const decoded = (json: JsonObject, definition: ResourceDefinition): KubeObject =>
  decodeStored(json, definition) as unknown as KubeObject;
