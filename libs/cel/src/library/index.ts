import { PatternRoom } from '@holdfast/api';
import type { Environment } from '../environment.ts';
import { MAX_PATTERNS_WEIGHT } from '../limits.ts';
import { type Functions, joinFunctions } from '../overload.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  param,
  STRING,
  TIMESTAMP,
  UINT,
} from '../types.ts';
import { ARITHMETIC } from './arithmetic.ts';
import { AUTHORIZATION } from './authorizer.ts';
import { COMPARISONS } from './comparisons.ts';
import { CONVERSIONS } from './conversions.ts';
import { NAMED_FORMATS } from './formats.ts';
import { LISTS } from './lists.ts';
import { LOGIC } from './logic.ts';
import { CIDR, IP, NETWORK } from './network.ts';
import { OPTIONALS } from './optionals.ts';
import { QUANTITIES, QUANTITY } from './quantities.ts';
import { REGEX } from './regex.ts';
import { SETS } from './sets.ts';
import { STRINGS } from './strings.ts';
import { TIMES } from './times.ts';
import { URL_TYPE, URLS } from './urls.ts';

/** The language itself, without the libraries of Kubernetes. */
export const STANDARD_FUNCTIONS: Functions = joinFunctions(
  LOGIC,
  ARITHMETIC,
  COMPARISONS,
  CONVERSIONS,
  STRINGS,
  TIMES,
  OPTIONALS,
);

export const KUBERNETES_FUNCTIONS: Functions = joinFunctions(
  STANDARD_FUNCTIONS,
  LISTS,
  SETS,
  REGEX,
  URLS,
  QUANTITIES,
  NETWORK,
  NAMED_FORMATS,
  AUTHORIZATION,
);

const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['bool', BOOL],
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['string', STRING],
  ['bytes', BYTES],
  ['null_type', NULL],
  ['list', listOf(DYN)],
  ['map', mapOf(DYN, DYN)],
  ['type', { kind: 'type', of: param('T') }],
  ['optional_type', { kind: 'opaque', name: 'optional_type', params: [DYN] }],
  ['google.protobuf.Timestamp', TIMESTAMP],
  ['google.protobuf.Duration', DURATION],
  ['net.IP', IP],
  ['net.CIDR', CIDR],
  ['kubernetes.Quantity', QUANTITY],
  ['kubernetes.URL', URL_TYPE],
]);

const roomForPatterns = (): PatternRoom => new PatternRoom(MAX_PATTERNS_WEIGHT);

/** Returns the environment of Kubernetes 1.32 with these variables. */
export function kubernetesEnvironment(
  variables: ReadonlyMap<string, CelType>,
  patterns = roomForPatterns(),
): Environment {
  return { variables, functions: KUBERNETES_FUNCTIONS, typeNames: TYPE_NAMES, homogeneousLiterals: true, patterns };
}

/** Returns the plain language, as its conformance data expects it. */
export function standardEnvironment(variables: ReadonlyMap<string, CelType>): Environment {
  const patterns = roomForPatterns();
  return { variables, functions: STANDARD_FUNCTIONS, typeNames: TYPE_NAMES, homogeneousLiterals: false, patterns };
}
