import path from 'node:path';

/** Rooms in the order of dependency: a room may import itself and what it lists. `*` as the last part = any service. */
export const MAY_IMPORT = {
  platform: [],
  machinery: ['platform'],
  api: ['platform', 'machinery'],
  cel: ['platform', 'machinery', 'api'],
  store: ['platform'],
  bus: ['platform'],
  pki: ['platform'],
  client: ['platform', 'machinery', 'api', 'bus'],
  testing: ['platform', 'machinery', 'api', 'store', 'bus', 'client'],
  apiserver: ['platform', 'machinery', 'api', 'cel', 'store', 'bus', 'client'],
  scheduler: ['platform', 'machinery', 'api', 'bus', 'client'],
  'controller-manager': ['platform', 'machinery', 'api', 'bus', 'client'],
  kubelet: ['platform', 'machinery', 'api', 'bus', 'client'],
  fencer: ['platform', 'machinery', 'api', 'bus', 'client'],
  'storage-server': ['platform', 'client'],
  proxy: ['platform', 'machinery', 'api', 'bus', 'client'],
  console: ['platform', 'machinery', 'client'],
  cluster: [
    'platform',
    'pki',
    'machinery',
    'api',
    'store',
    'bus',
    'client',
    'apiserver',
    'scheduler',
    'controller-manager',
    'kubelet',
  ],
  holdfast: [
    'cluster',
    'platform',
    'pki',
    'machinery',
    'api',
    'cel',
    'store',
    'bus',
    'client',
    'apiserver',
    'scheduler',
    'controller-manager',
    'kubelet',
    'fencer',
    'proxy',
    'console',
  ],
};

/** Test code and the contract suites may use the testing room; production never does. */
const TEST_FILE = /\.(test|prop)\.ts$|\/contract(\/|\.ts$)/;
const MACHINE_ROOMS = /(^|\/)libs\/platform\/src\/|(^|\/)(main|[a-z-]+-main)\.tsx?$/;

function roomOf(filename) {
  const match = /(?:^|\/)(?:libs|services)\/([^/]+)\//.exec(filename.replaceAll(path.sep, '/'));
  return match?.[1];
}

const importDirection = {
  create(context) {
    const file = context.filename.replaceAll(path.sep, '/');
    const room = roomOf(file);
    if (room === undefined) return {};
    const check = (node) => {
      const source = node.source?.value;
      if (typeof source !== 'string') return;
      const wanted = targetRoom(source, file);
      if (wanted === undefined || wanted === room) return;
      if (wanted === 'testing' && TEST_FILE.test(file)) return;
      if (!(MAY_IMPORT[room] ?? []).includes(wanted)) {
        context.report({ node, message: `${room} may not import ${wanted} (see ARCHITECTURE.md, "Rooms").` });
      }
      if (!source.startsWith('@')) {
        context.report({ node, message: `Reach ${wanted} through @holdfast/${wanted}, not by a relative path.` });
      }
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check, ImportExpression: check };
  },
};

function targetRoom(source, file) {
  const scoped = /^@holdfast\/([^/]+)/.exec(source);
  if (scoped) return scoped[1];
  if (!source.startsWith('.')) return undefined;
  return roomOf(path.posix.join(path.posix.dirname(file), source));
}

const TAKE_A_CLOCK = 'Take a Clock from @holdfast/platform.';
const TAKE_RANDOM = 'Take Random or Ids from @holdfast/platform.';
const TAKE_SETTINGS = 'Read settings in main.ts or with @holdfast/platform/config and pass them in.';

/** `object.member`, however it is written: `a.b`, `a['b']`, `const { b } = a`. */
const FORBIDDEN_MEMBERS = {
  'Math.random': TAKE_RANDOM,
  'process.env': TAKE_SETTINGS,
  'process.hrtime': TAKE_A_CLOCK,
  'process.uptime': TAKE_A_CLOCK,
  'AbortSignal.timeout': 'Build the deadline from Clock.timer.',
  'crypto.randomUUID': TAKE_RANDOM,
  'crypto.getRandomValues': TAKE_RANDOM,
};
for (const name of ['Date', 'setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto', 'process', 'Math']) {
  FORBIDDEN_MEMBERS[`globalThis.${name}`] = `Name ${name} directly, so that the rules see it.`;
}

/** Modules whose only use is the machine's time, randomness or settings. */
const FORBIDDEN_MODULES = {
  'node:timers': TAKE_A_CLOCK,
  'node:timers/promises': TAKE_A_CLOCK,
  'node:perf_hooks': TAKE_A_CLOCK,
  'node:process': TAKE_SETTINGS,
};
/** For modules that are allowed except for these names. */
const FORBIDDEN_NAMES = {
  'node:crypto': ['randomUUID', 'randomInt', 'default', 'getRandomValues'],
};
/** Certificates and tokens are secrets of the real machine, never simulated: they alone draw from its source. */
const SECRET_MAKERS = /(^|\/)(libs\/pki|services\/holdfast\/src\/(setup|embedded))\//;

const machineOnlyInPlatform = {
  create(context) {
    const file = context.filename.replaceAll(path.sep, '/');
    if (MACHINE_ROOMS.test(file) || TOOL_FILE.test(file)) return {};
    const report = (node, what, why) => context.report({ node, message: `${what} is not allowed here. ${why}` });
    return {
      MemberExpression: (node) => checkMember(node, memberName(node.property, node.computed), report),
      VariableDeclarator: (node) => checkDestructuring(node, report),
      ImportDeclaration: (node) => checkImport(node, file, report),
      ImportExpression: (node) => checkModule(node, node.source?.value, report),
    };
  },
};

const TOOL_FILE = /(^|\/)(tools|scripts|bench)\//;

function memberName(property, computed) {
  if (!computed) return property?.name;
  return property?.type === 'Literal' ? property.value : undefined;
}

function checkMember(node, member, report) {
  const text = `${node.object?.name}.${member}`;
  if (Object.hasOwn(FORBIDDEN_MEMBERS, text)) report(node, text, FORBIDDEN_MEMBERS[text]);
}

function checkDestructuring(node, report) {
  if (node.id?.type !== 'ObjectPattern' || node.init?.type !== 'Identifier') return;
  for (const property of node.id.properties) {
    const text = `${node.init.name}.${property.key?.name}`;
    if (Object.hasOwn(FORBIDDEN_MEMBERS, text)) report(property, text, FORBIDDEN_MEMBERS[text]);
  }
}

function checkModule(node, source, report) {
  if (typeof source === 'string' && Object.hasOwn(FORBIDDEN_MODULES, source)) report(node, source, FORBIDDEN_MODULES[source]);
}

function checkImport(node, file, report) {
  checkModule(node, node.source?.value, report);
  const forbidden = Object.hasOwn(FORBIDDEN_NAMES, node.source?.value) ? FORBIDDEN_NAMES[node.source.value] : [];
  for (const specifier of node.specifiers) {
    const name = specifier.type === 'ImportSpecifier' ? specifier.imported?.name : 'default';
    if (forbidden.includes(name)) report(specifier, `${name} of ${node.source.value}`, TAKE_RANDOM);
    if (name === 'randomBytes' && !SECRET_MAKERS.test(file)) report(specifier, `randomBytes of ${node.source.value}`, TAKE_RANDOM);
  }
}

/** An `error` event without a listener ends the process, and streams, sockets, servers and children emit it when they like. */
const keepErrorListener = {
  create(context) {
    const file = context.filename.replaceAll(path.sep, '/');
    if (roomOf(file) === undefined || TEST_FILE.test(file) || /\/(testing|contract[^/]*)(\/|\.ts$)/.test(file)) return {};
    return {
      CallExpression: (node) => {
        const method = memberName(node.callee?.property, node.callee?.computed);
        const [event] = node.arguments;
        const ofError = event?.type === 'Literal' && event.value === 'error';
        const drops = DROPS_LISTENER.has(method) ? ofError : method === 'removeAllListeners' && (event === undefined || ofError);
        if (!drops) return;
        context.report({ node, message: "Listen with on('error', ...) and keep the listener: the next error would end the process." });
      },
    };
  },
};

const DROPS_LISTENER = new Set(['once', 'off', 'removeListener', 'prependOnceListener']);

/**
 * Maps of Kubernetes objects whose keys are chosen by users. A plain lookup finds `constructor` and `toString` in each of them.
 * Field names of our own shapes that are keyed by fixed names are not listed.
 */
const USERS_MAPS = new Set([
  'labels',
  'annotations',
  'matchLabels',
  'nodeSelector',
  'data',
  'stringData',
  'binaryData',
  'capacity',
  'allocatable',
  'requests',
  'limits',
  'hard',
  'used',
  'overhead',
  'headers',
  'env',
  'matchExpressions',
  'volumeAttributes',
  'extra',
  'parameters',
]);

const TAKE_A_MAP =
  'A key such as "constructor" finds what every object inherits. Use a Map, ownValue() of @holdfast/machinery, or guard it with Object.hasOwn.';

/** `table[key]` by a key that is not written here, on a plain object whose keys are any text. */
const noOpenTable = {
  create(context) {
    const file = context.filename.replaceAll(path.sep, '/');
    if (TOOL_FILE.test(file) || TEST_FILE.test(file) || TEST_ROOM.test(file)) return {};
    return {
      MemberExpression: (node) => {
        if (!node.computed || isFixedKey(node.property) || isDeleted(node)) return;
        const table = unwrapped(node.object);
        if (!isOpenTable(table, context) && !isUsersName(node.property)) return;
        if (isGuarded(node, table, context)) return;
        context.report({ node, message: `${textOf(table, context)}[...] is a lookup on a plain object. ${TAKE_A_MAP}` });
      },
    };
  },
};

const TEST_ROOM = /(^|\/)(test|testing|generated|contract)(\/|$)/;

function isFixedKey(key) {
  if (key.type === 'Literal') return true;
  if (key.type === 'TemplateLiteral') return key.expressions.length === 0 || key.quasis.some(isInNoInheritedName) || key.expressions.some(isConstant);
  // Arithmetic and numbers of loops are places of a list; a constant names one key.
  return key.type === 'BinaryExpression' && key.operator !== '+' ? true : isConstant(key);
}

const isConstant = (key) => key.type === 'Identifier' && /^[A-Z][A-Z0-9_]*$/.test(key.name);

const INHERITED = Object.getOwnPropertyNames(Object.prototype);
const isInNoInheritedName = ({ value }) => !INHERITED.some((name) => name.includes(value.cooked));

/** `container.name` and its like: whatever is looked up by it, users chose the key. */
const isUsersName = (key) => key.type === 'MemberExpression' && !key.computed && USERS_NAMES.has(key.property.name);
const USERS_NAMES = new Set(['name', 'key', 'topologyKey', 'resourceName', 'claimName', 'containerName']);

const isDeleted = ({ parent }) => parent?.type === 'UnaryExpression' && parent.operator === 'delete';

/** `a ?? {}`, `(a as T)`, `a!` and `a` are about the same object. */
function unwrapped(node) {
  if (node.type === 'ParenthesizedExpression' || node.type === 'ChainExpression') return unwrapped(node.expression);
  if (node.type === 'TSAsExpression' || node.type === 'TSNonNullExpression') return unwrapped(node.expression);
  return node.type === 'LogicalExpression' && node.operator === '??' ? unwrapped(node.left) : node;
}

function isOpenTable(table, context) {
  if (table.type === 'MemberExpression') return !table.computed && USERS_MAPS.has(table.property.name);
  if (table.type !== 'Identifier') return false;
  const definition = definitionOf(table, context);
  if (definition === undefined) return USERS_MAPS.has(table.name);
  const annotation = definition.annotation?.typeAnnotation;
  if (annotation !== undefined) return isOpenRecord(annotation);
  if (isOwnTable(definition.init)) return false;
  return USERS_MAPS.has(table.name);
}

/** A variable that is a list or a Map made here is no table of a user, whatever its name. */
const isOwnTable = (init) => ['ArrayExpression', 'NewExpression', 'ObjectExpression'].includes(init?.type);

function definitionOf(identifier, context) {
  let scope = context.sourceCode.getScope(identifier);
  while (scope !== null) {
    const variable = scope.set.get(identifier.name);
    if (variable !== undefined) return readDefinition(variable.defs[0]);
    scope = scope.upper;
  }
  return undefined;
}

function readDefinition(definition) {
  const name = definition?.name;
  const node = definition?.node;
  return { annotation: name?.typeAnnotation, init: node?.type === 'VariableDeclarator' && node.id === name ? node.init : undefined };
}

const WRAPPERS = new Set(['Readonly', 'Partial', 'Required', 'Mutable']);

/** `Record<string, T>`, `{ [key: string]: T }` and JsonObject, also readonly or partial. */
function isOpenRecord(type) {
  if (type.type === 'TSUnionType') return type.types.some(isOpenRecord);
  if (type.type === 'TSTypeLiteral') return type.members.some((member) => member.type === 'TSIndexSignature');
  if (type.type !== 'TSTypeReference') return false;
  const name = type.typeName?.name;
  const [first] = type.typeArguments?.params ?? [];
  if (WRAPPERS.has(name) && first !== undefined) return isOpenRecord(first);
  return name === 'Record' && first?.type === 'TSStringKeyword';
}

/** Somewhere in the same function the key is looked for with Object.hasOwn, or taken from the table itself. */
function isGuarded(node, table, context) {
  const text = textOf(table, context);
  const body = context.sourceCode.getText(functionAround(node));
  const guards = [`Object.hasOwn(${text}`, `Object.keys(${text}`, `Object.entries(${text}`, `in ${text})`, `'__proto__'`];
  return guards.some((guard) => body.includes(guard));
}

function functionAround(node) {
  let at = node;
  while (at.parent != null && !/Function|MethodDefinition/.test(at.type)) at = at.parent;
  return at;
}

const textOf = (node, context) => context.sourceCode.getText(node).replaceAll('?.', '.');

/** Nothing handles the next rejection in `void work().catch(() => promise)`. */
const endRejectionsInBackground = {
  create(context) {
    return {
      UnaryExpression: (node) => {
        if (node.operator !== 'void') return;
        for (const handler of rejectionHandlers(node.argument)) {
          const handsOn = handler.body?.type === 'MemberExpression' || (handler.body?.type === 'Identifier' && handler.body.name !== 'undefined');
          if (!handsOn) continue;
          context.report({ node: handler, message: 'Nobody waits for this: answer undefined, or handle that promise as well.' });
        }
      },
    };
  },
};

function rejectionHandlers(call) {
  if (call?.type !== 'CallExpression') return [];
  const method = memberName(call.callee?.property, call.callee?.computed);
  const handler = method === 'catch' ? call.arguments[0] : method === 'then' ? call.arguments[1] : undefined;
  const here = handler?.type === 'ArrowFunctionExpression' && handler.expression !== false ? [handler] : [];
  return [...here, ...rejectionHandlers(call.callee?.object)];
}

/** Tests that let real time pass because it is their subject: the clock itself, how long a cut or a slow client lasts. */
const REAL_TIME_TESTS = [
  'libs/platform/src/ports.test.ts',
  'test/chaos/store-cut.test.ts',
  'test/integration/abuse-slow-clients.test.ts',
  'test/integration/encrypted-connections.test.ts',
  'test/integration/store-redis-faults.test.ts',
];

/** `createSystemClock().sleep(...)` in a test, also by the name of a variable. */
const noRealSleep = {
  create(context) {
    const file = context.filename.replaceAll(path.sep, '/');
    if (!file.endsWith('.test.ts') || REAL_TIME_TESTS.some((each) => file.endsWith(each))) return {};
    return {
      CallExpression: (node) => {
        if (memberName(node.callee?.property, node.callee?.computed) !== 'sleep') return;
        const clock = node.callee.object;
        const made = clock.type === 'Identifier' ? definitionOf(clock, context)?.init : clock;
        if (made?.type !== 'CallExpression' || made.callee.name !== 'createSystemClock') return;
        context.report({ node, message: 'A fixed time is too short on a busy machine. Wait with eventually(), take nextTurn(), or use a virtual clock.' });
      },
    };
  },
};

const RUNS_TEST = /^(describe|it|test([A-Z]\w*)?)$/;
const SKIP_SEEN = "Write test(title, { skip: reason }, ...) or `return t.skip(reason)`, so that the run counts it, or fail with an instruction.";

/** A test that returns early, or is not registered, passes unseen. */
const noSilentSkip = {
  create(context) {
    if (!SKIP_FILE.test(context.filename.replaceAll(path.sep, '/'))) return {};
    const report = (node, what) => context.report({ node, message: `${what} ${SKIP_SEEN}` });
    return {
      ReturnStatement: (node) => {
        const body = functionAround(node);
        if (isTestBody(body) && isConditional(node, body) && !isSkipCall(node.argument)) report(node, 'A test that ends early counts as passed.');
      },
      CallExpression: (node) => {
        if (isTestCall(node) && isConditional(node, functionAround(node))) report(node, 'A test that is not registered is not missed.');
        if (isSkipCall(node) && node.arguments.length === 0) report(node, 'A skip without a reason.');
      },
      ContinueStatement: (node) => {
        const loop = ancestor(node, /^For|While/);
        if (context.sourceCode.getText(loop).includes('test(') && isRegistering(loop)) report(node, 'A test that is not registered is not missed.');
      },
      Property: (node) => {
        const isFlag = ['skip', 'todo'].includes(node.key?.name) && node.value?.type === 'Literal' && node.value.value === true;
        if (isFlag && isTestCall(node.parent?.parent)) report(node, 'A skip without a reason.');
      },
    };
  },
};

const SKIP_FILE = /\.test\.ts$|\/contract(\/|[^/]*\.ts$)/;

/** `test('...', ...)`, `describe('...', ...)`, `testUsers('...', ...)`, `t.test('...', ...)`: the first argument is a title. */
function isTestCall(node) {
  if (node?.type !== 'CallExpression' || !isTitle(node.arguments[0])) return false;
  if (node.callee.type === 'Identifier') return RUNS_TEST.test(node.callee.name);
  return node.callee.type === 'MemberExpression' && node.callee.property?.name === 'test' && node.callee.object?.name === 't';
}

const isTitle = (node) => ['Literal', 'TemplateLiteral', 'BinaryExpression'].includes(node?.type) || /title|name/i.test(node?.name ?? '');

const isTestBody = (node) => /Function/.test(node.type) && isTestCall(node.parent) && node.parent.arguments.includes(node);

const isSkipCall = (node) => node?.type === 'CallExpression' && node.callee.type === 'MemberExpression' && node.callee.property?.name === 'skip' && node.callee.object?.name === 't';

const CONDITIONS = /^(IfStatement|ConditionalExpression|LogicalExpression|SwitchCase|CatchClause)$/;

function isConditional(node, outermost) {
  for (let at = node.parent; at != null && at !== outermost; at = at.parent) if (CONDITIONS.test(at.type)) return true;
  return false;
}

function ancestor(node, pattern) {
  let at = node.parent;
  while (at.parent != null && !pattern.test(at.type)) at = at.parent;
  return at;
}

/** At the top of the file or of a `describe`: code there registers tests. */
function isRegistering(node) {
  const around = functionAround(node);
  return !/Function/.test(around.type) || (isTestBody(around) && around.parent.callee.name === 'describe');
}

/** The beginnings of sentences whose subject comes late: `Who asks again ...`, `Of a node ...`. Questions may begin so. */
const LATE_SUBJECT = /^(?:Who|Whoever|Whose|Of (?:an?|the|all))\s[^?]*$/;

/** Comments are plain technical English: subject, verb, object. This refuses the sentences that are hardest to read. */
const plainComments = {
  create(context) {
    return {
      Program: () => {
        for (const comment of context.sourceCode.getAllComments()) {
          const sentence = sentencesOf(comment.value).find((each) => LATE_SUBJECT.test(each));
          if (sentence !== undefined) context.report({ loc: comment.loc, message: `Begin with the subject: "${sentence.slice(0, 60)}"` });
        }
      },
    };
  },
};

const sentencesOf = (comment) => comment.replace(/^\s*\*+ ?/gm, ' ').replace(/\s+/g, ' ').trim().split(/(?<=[.!?]) /);

const plugin = {
  meta: { name: 'holdfast' },
  rules: {
    'end-rejections-in-background': endRejectionsInBackground,
    'import-direction': importDirection,
    'keep-error-listener': keepErrorListener,
    'machine-only-in-platform': machineOnlyInPlatform,
    'no-open-table': noOpenTable,
    'no-real-sleep': noRealSleep,
    'no-silent-skip': noSilentSkip,
    'plain-comments': plainComments,
  },
};

// The linter's plugin loader reads the default export.
export default plugin;
