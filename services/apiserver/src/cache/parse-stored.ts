import { allResources, type KubeObject } from '@holdfast/api';
import { mayHoldLongIntegers, parseLongIntegers } from '@holdfast/machinery';
import { resourcePrefix, type StoreKey } from '@holdfast/store';

/**
 * Parses the stored text of an object. Integers that a double cannot hold are kept in custom resources and their
 * definitions. The search for them costs a sixth of the parsing. Other kinds have numbers to compute with.
 */
export function parseStored(key: StoreKey, text: string, parse: Parse = JSON.parse): KubeObject {
  const isExact = !isTyped(key) && mayHoldLongIntegers(text);
  return isExact ? (parseLongIntegers(text) as unknown as KubeObject) : parse(text);
}

/** For text without such integers. */
type Parse = (text: string) => KubeObject;

/** Definitions have default values of any type. */
const UNTYPED: ReadonlySet<string> = new Set([resourcePrefix('apiextensions.k8s.io', 'customresourcedefinitions')]);

/** Built on first use: the registry imports much. */
let typed: ReadonlySet<string> | undefined;

function isTyped(key: StoreKey): boolean {
  typed ??= new Set(
    allResources()
      .map(({ group, plural }) => resourcePrefix(group, plural))
      .filter((prefix) => !UNTYPED.has(prefix)),
  );
  return typed.has(key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1));
}
