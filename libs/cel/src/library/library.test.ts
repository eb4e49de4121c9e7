import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CelType,
  compileExpression,
  DYN,
  fromJson,
  isList,
  itemsOf,
  kubernetesEnvironment,
  OptionalValue,
} from '../index.ts';
import type { CelValue } from '../values.ts';
import { AUTHORIZER, authorizerValue } from './authorizer.ts';

const VARIABLES = new Map<string, CelType>([
  ['x', DYN],
  ['authorizer', AUTHORIZER],
]);

function evaluate(source: string, x: unknown = null): CelValue {
  const compiled = compileExpression(source, kubernetesEnvironment(VARIABLES));
  if (compiled.program === undefined) throw new Error(compiled.message);
  const asked = authorizerValue(({ verb, resource, path, serviceAccount }) => ({
    allowed: verb === 'get',
    reason: `${verb} ${serviceAccount?.name ?? ''} ${path ?? ''} ${resource?.group}/${resource?.resource}/${resource?.name}`,
  }));
  const outcome = compiled.program.evaluate((name) =>
    name === 'x' ? fromJson(x, DYN) : name === 'authorizer' ? asked : undefined,
  );
  if (outcome.error !== undefined) throw outcome.error;
  return plain(outcome.value ?? null);
}

function plain(value: CelValue): CelValue {
  if (value instanceof OptionalValue) return value.value === undefined ? 'none' : plain(value.value);
  return isList(value) ? JSON.stringify([...itemsOf(value)].map(String)) : value;
}

/** [expression, result]; an Error stands for a failure whose message contains this text. */
const CASES: readonly (readonly [string, CelValue | Error])[] = [
  // lists
  ['[1, 2, 3].sum()', 6n],
  ['[1.5, 2.0].sum()', 3.5],
  ["[duration('1m'), duration('1s')].sum() == duration('61s')", true],
  ['[3, 1, 2].max()', 3n],
  ["['b', 'a'].min()", 'a'],
  ['[1, 3, 2].isSorted()', false],
  ['[1, 2, 2].indexOf(2)', 1n],
  ['[1, 2, 2].lastIndexOf(2)', 2n],
  ['[1].filter(i, i > 1).max()', new Error('max called on empty list')],
  // sets
  ['sets.contains([1, 2], [2])', true],
  ['sets.equivalent([1, 2, 1], [2, 1])', true],
  ['sets.intersects([1], [2])', false],
  // patterns
  ["'abc 123 def 4'.find('[0-9]+')", '123'],
  ["'abc'.find('[0-9]+')", ''],
  ["'1 22 333'.findAll('[0-9]+')", '["1","22","333"]'],
  ["'1 22 333'.findAll('[0-9]+', 2)", '["1","22"]'],
  ["'1 22'.findAll('[0-9]+', 0)", '[]'],
  ["'a'.matches('(?i)A')", true],
  ["'xay'.matches('a')", true],
  ["'a'.matches('(?=a)')", new Error('invalid matches argument')],
  // addresses
  ["url('https://user@example.com:8080/a b?q=1&q=2').getEscapedPath()", '/a%20b'],
  ["url('https://user@example.com:8080/a%20b?q=1&q=2').getHost()", 'example.com:8080'],
  ["url('https://example.com:8080/').getHostname()", 'example.com'],
  ["url('https://[::1]:80/').getHostname()", '::1'],
  ["url('https://[::1]:80/').getPort()", '80'],
  ["url('/path').getScheme()", ''],
  ["url('https://x/?a=1&a=2').getQuery()['a'][1]", '2'],
  ["isURL('../relative')", false],
  ["isURL('https://example.com')", true],
  // networks
  ["ip('192.168.0.1').family()", 4n],
  ["ip('::1').isLoopback()", true],
  ["isIP('1.2.3.04')", false],
  ["isIP('::ffff:1.2.3.4')", false],
  ["ip.isCanonical('2001:db8::abcd')", true],
  ["ip.isCanonical('2001:DB8::ABCD')", false],
  ["string(ip('2001:db8:0:0:0:0:0:1'))", '2001:db8::1'],
  ["cidr('192.168.0.0/24').containsIP('192.168.0.1')", true],
  ["cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))", false],
  ["cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25')", true],
  ["cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))", false],
  ["string(cidr('192.168.1.9/24').masked())", '192.168.1.0/24'],
  ["cidr('10.0.0.0/8').prefixLength()", 8n],
  ["isCIDR('10.0.0.0/33')", false],
  ["ip('256.1.1.1')", new Error('parse error')],
  // quantities
  ["quantity('1.5Gi').isGreaterThan(quantity('1Gi'))", true],
  ["quantity('50k').add(20).asInteger()", 50_020n],
  ["quantity('50k').sub(quantity('20k')) == quantity('30k')", true],
  ["quantity('100m').isInteger()", false],
  ["quantity('100m').asInteger()", new Error('cannot convert value to integer')],
  ["quantity('200M').compareTo(quantity('0.2G'))", 0n],
  ["isQuantity('1.3Gii')", false],
  // formats
  ["format.dns1123Label().validate('my-label').hasValue()", false],
  ["format.named('qualifiedName').value().validate('a b c').hasValue()", true],
  ["format.named('unknown').hasValue()", false],
  ["format.datetime().validate('2020-01-01T00:00:00Z').hasValue()", false],
  ["!format.uuid().validate('123').hasValue()", false],
  // two variables
  ["{'a': 1, 'b': 2}.all(k, v, size(k) == 1 && v > 0)", true],
  ['[5, 6].exists(i, v, i == 1 && v == 6)', true],
  ["{'a': 1}.transformMap(k, v, v + 1)['a']", 2n],
  ['[1, 2].transformList(i, v, i + v)', '["1","3"]'],
  // optional values
  ['x.?a.orValue(7)', 7n],
  ['optional.none().or(optional.of(3))', 3n],
  ["{'a': 1}[?'b'].hasValue()", false],
  // optional entries of literals
  ['[1, ?x.?a, ?optional.of(3)]', '["1","3"]'],
  ["{?'a': x.?a, ?'b': optional.of(2), 'c': 3} == {'b': 2, 'c': 3}", true],
  ["{?'a': x.?a, 'a': 1} == {'a': 1}", true],
  ['[?optional.of(1), ?true ? optional.of(2) : optional.none(), ?(optional.of(3))].sum()', 6n],
  ['[?x[?"a"].or(x.?b), [?x.?a][?0].hasValue() || true]', '["true"]'],
  ["['[?', \"{'?\", b'?'].size() == 3 ? [ /* no comment */ ] : []", new Error('Syntax error')],
  ["['[?', \"{'?\", '\\\\', r'[?', ?optional.none()].size() // [?", 4n],
  ['1 in [?optional.of(1)] && ![!true][0] && !(2 in [?optional.of(1)])', true],
  ['[?dyn(optional.of(1))].size()', 1n],
  ['[?dyn(1)].size()', new Error('cannot initialize optional entry from non-optional value')],
  ['[?1]', new Error("expected type 'optional_type\\(int\\)' but found 'int'")],
  ["{?'a': 1}", new Error("expected type 'optional_type\\(int\\)' but found 'int'")],
  ["[?optional.of(1), 'a']", new Error("expected type 'int' but found 'string'")],
  ['[? ]', new Error('Syntax error')],
  ['[(?x)]', new Error('Syntax error')],
  ['size(?x)', new Error('Syntax error')],
  ['[1, ??x]', new Error('Syntax error')],
  // the authorizer
  ["authorizer.group('apps').resource('deployments').namespace('n').name('d').check('get').allowed()", true],
  ["authorizer.path('/healthz').check('delete').allowed()", false],
  [
    "authorizer.serviceAccount('n', 'sa').group('').resource('pods').name('p').check('get').reason()",
    'get sa  /pods/p',
  ],
  // JavaScript prototypes are not fields
  ['has(x.constructor)', false],
  ["'constructor' in x", false],
  ['x.toString', new Error('no such key: toString')],
  ['x.__proto__', new Error('no such key: __proto__')],
];

for (const [source, wanted] of CASES) {
  test(`library: ${source}`, () => {
    if (wanted instanceof Error) assert.throws(() => evaluate(source, {}), new RegExp(wanted.message));
    else assert.deepEqual(evaluate(source, {}), wanted);
  });
}
