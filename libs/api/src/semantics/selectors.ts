import {
  compileLabelMap,
  compileLabelSelector,
  type LabelSelectorMatcher,
  type LabelSelectorObject,
  NOTHING,
  SelectorError,
} from '@holdfast/machinery';

const compiledSelectors = new WeakMap<LabelSelectorObject, LabelSelectorMatcher>();
const compiledMaps = new WeakMap<Readonly<Record<string, string>>, LabelSelectorMatcher>();

/**
 * The selector of a stored object: an absent one selects nothing, an empty one everything. One that cannot be compiled
 * selects nothing, too: validation has let it pass, so nobody can be told. Objects of a cache never change, so each selector
 * is compiled once.
 */
export function selectorOf(selector: LabelSelectorObject | null | undefined): LabelSelectorMatcher {
  if (selector === undefined || selector === null) return NOTHING;
  const known = compiledSelectors.get(selector);
  if (known !== undefined) return known;
  const compiled = compileOrNothing(() => compileLabelSelector(selector));
  compiledSelectors.set(selector, compiled);
  return compiled;
}

/** The older form of Services and ReplicationControllers. An absent or empty one selects nothing. */
export function mapSelectorOf(pairs: Readonly<Record<string, string>> | null | undefined): LabelSelectorMatcher {
  if (pairs === undefined || pairs === null || Object.keys(pairs).length === 0) return NOTHING;
  const known = compiledMaps.get(pairs);
  if (known !== undefined) return known;
  const compiled = compileLabelMap(pairs);
  compiledMaps.set(pairs, compiled);
  return compiled;
}

/** A selector that cannot be compiled selects nothing. */
export function compileOrNothing(compile: () => LabelSelectorMatcher): LabelSelectorMatcher {
  try {
    return compile();
  } catch (error) {
    if (error instanceof SelectorError) return NOTHING;
    throw error;
  }
}
