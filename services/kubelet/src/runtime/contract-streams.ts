import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { containerConfig, eventually, exited, onlySandbox, type RuntimeHarness, sandboxConfig } from './contract.ts';
import type { ContainerConfig, ContainerRuntime, ExecStreamRequest, ProcessStreams, RuntimeStreams } from './port.ts';

/** Commands of a runtime that runs programs are those of a POSIX shell; the scripted ones of a simulation are its own. */
export interface StreamVocabulary {
  readonly runForever: readonly string[];
  /** Copies its input to its output and ends with it. */
  readonly echo: readonly string[];
  /** Writes `out` and `err` to the two outputs and exits with 3. */
  readonly bothOutputs: readonly string[];
  /** Writes endlessly. */
  readonly flood: readonly string[];
  readonly unknownCommand: readonly string[];
  /** The runtime has no way to end a command whose caller went away; it ends with the container. */
  readonly execOutlivesItsCaller?: true;
  /**
   * Absent: this runtime supports no terminals. Prints the size of its terminal as `rows columns` for every line that
   * it reads.
   */
  readonly terminalSize?: readonly string[];
  /** Listens on this port, answers every connection with what it was sent, and closes after the other side did. */
  readonly echoServer?: (port: number) => readonly string[];
  /** Returns the number of the container's processes. */
  readonly countProcesses?: (containerId: string) => number | Promise<number>;
}

const STREAMS = { stdin: false, stdout: true, stderr: true, tty: false };
const DEADLINE_MS = 20_000;

/** Everything until the end, with a deadline. */
export async function readToEnd(stream: Readable | undefined): Promise<string> {
  assert.ok(stream !== undefined, 'the stream was asked for');
  const chunks: Buffer[] = [];
  const end = new Promise<string>((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    stream.once('error', reject);
  });
  return within(end, 'the end of the stream');
}

export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = createSystemClock().timer(DEADLINE_MS, () => late.reject(new Error(`not in time: ${what}`)));
  return Promise.race([promise, late.promise]).finally(() => timer.cancel());
}

/** Resolves when the output contains this. */
export function readUntil(stream: Readable | undefined, expected: RegExp): Promise<string> {
  assert.ok(stream !== undefined, 'the stream was asked for');
  const seen = new Promise<string>((resolve, reject) => {
    let text = '';
    const take = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      if (!expected.test(text)) return;
      stream.off('data', take);
      resolve(text);
    };
    stream.on('data', take);
    stream.once('end', () => reject(new Error(`ended without ${expected}: ${text}`)));
  });
  return within(seen, String(expected));
}

/** Every backend that carries streams passes these. `name` prefixes the titles. */
export function testRuntimeStreams(
  name: string,
  vocabulary: StreamVocabulary,
  create: () => Promise<RuntimeHarness>,
): void {
  const check: Check = (title, body) => {
    void test(`${name}: ${title}`, async () => {
      const harness = await create();
      try {
        const { streams } = harness.runtime;
        assert.ok(streams !== undefined, 'the runtime carries streams');
        await body({ ...harness, streams });
      } finally {
        await harness.dispose();
      }
    });
  };
  testExec(check, vocabulary);
  testExecEnds(check, vocabulary);
  testAttach(check, vocabulary);
  testPorts(check, vocabulary);
  if (vocabulary.terminalSize !== undefined) testTerminals(check, vocabulary, vocabulary.terminalSize);
}

type Check = (
  title: string,
  body: (harness: RuntimeHarness & { readonly streams: RuntimeStreams }) => Promise<void>,
) => void;

async function started(runtime: ContainerRuntime, config: ContainerConfig): Promise<string> {
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  const id = await runtime.createContainer(sandbox, config);
  await runtime.startContainer(id);
  return id;
}

const request = (command: readonly string[], change: Partial<ExecStreamRequest> = {}): ExecStreamRequest => ({
  ...STREAMS,
  command,
  ...change,
});

const exitCode = async (streams: ProcessStreams): Promise<number> =>
  (await within(streams.ended, 'the end of the process')).exitCode;

function testExec(check: Check, vocabulary: StreamVocabulary): void {
  check('exec: both outputs and the exit code', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const process = await streams.exec(id, request(vocabulary.bothOutputs));
    const [out, err, code] = await Promise.all([
      readToEnd(process.stdout),
      readToEnd(process.stderr),
      exitCode(process),
    ]);
    assert.deepEqual([out.trim(), err.trim(), code], ['out', 'err', 3]);
  });

  check('exec: streams that were not asked for are not there', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const process = await streams.exec(id, request(vocabulary.bothOutputs, { stdout: false, stderr: false }));
    assert.deepEqual([process.stdin, process.stdout, process.stderr], [undefined, undefined, undefined]);
    assert.equal(await exitCode(process), 3);
  });

  check('exec: a large input comes back whole, and its end ends the process', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const process = await streams.exec(id, request(vocabulary.echo, { stdin: true }));
    const text = 'all of it, in order\n'.repeat(100_000);
    process.stdin?.end(text);
    assert.ok((await readToEnd(process.stdout)) === text, 'what came back is what was sent');
    assert.equal(await exitCode(process), 0);
  });

  check('exec: an output that nobody reads makes the process wait', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const process = await streams.exec(id, request(vocabulary.flood));
    const { stdout } = process;
    assert.ok(stdout !== undefined);
    stdout.on('readable', () => undefined);
    await eventually(() => stdout.readableLength >= stdout.readableHighWaterMark, 'the buffer is full');
    const before = stdout.readableLength;
    await createSystemClock().sleep(50);
    assert.ok(stdout.readableLength <= Math.max(before, 1024 * 1024), 'it does not grow');
    process.close();
    await within(
      process.ended.catch(() => undefined),
      'the end after close',
    );
  });
}

function testExecEnds(check: Check, vocabulary: StreamVocabulary): void {
  if (vocabulary.execOutlivesItsCaller !== true) testLeavingExec(check, vocabulary);
  testExecRefusals(check, vocabulary);
}

function testLeavingExec(check: Check, vocabulary: StreamVocabulary): void {
  check('exec: when the caller goes away, its processes are killed', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const { countProcesses = () => 1 } = vocabulary;
    const alone = await eventually(async () => (await countProcesses(id)) || false, 'the container runs');
    const process = await streams.exec(id, request(vocabulary.runForever));
    process.close();
    await within(
      process.ended.catch(() => undefined),
      'the end after close',
    );
    await eventually(async () => (await countProcesses(id)) === alone, 'only the container is left');
  });
}

function testExecRefusals(check: Check, vocabulary: StreamVocabulary): void {
  check('[SAFE-12] exec: its processes end with the container', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const process = await streams.exec(id, request(vocabulary.runForever));
    await runtime.stopContainer(id, 50);
    assert.notEqual(await exitCode(process), 0);
    assert.equal((await vocabulary.countProcesses?.(id)) ?? 0, 0);
  });

  check('exec: a command that does not exist', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const refused = streams.exec(id, request(vocabulary.unknownCommand)).then((process) => process.ended);
    await assert.rejects(within(refused, 'the refusal'), { name: 'RuntimeError' });
  });

  check('exec: in what does not run or is not there', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    await runtime.stopContainer(id, 50);
    await assert.rejects(streams.exec(id, request(vocabulary.echo)), { code: 'IllegalState' });
    await assert.rejects(streams.exec('nowhere', request(vocabulary.echo)), { code: 'NotFound' });
  });
}

function testAttach(check: Check, vocabulary: StreamVocabulary): void {
  check('attach: input goes to the container and output comes back', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.echo, { stdin: true }));
    const attached = await streams.attach(id, { ...STREAMS, stdin: true });
    attached.stdin?.write('hello\n');
    assert.match(await readUntil(attached.stdout, /hello\n/), /^hello\n$/);
    attached.close();
  });

  check('attach: a client that leaves leaves the input open; the next one goes on', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.echo, { stdin: true }));
    const first = await streams.attach(id, { ...STREAMS, stdin: true });
    first.stdin?.write('one\n');
    await readUntil(first.stdout, /one\n/);
    first.close();
    await within(first.ended, 'leaving');
    const second = await streams.attach(id, { ...STREAMS, stdin: true });
    second.stdin?.write('two\n');
    await readUntil(second.stdout, /two\n/);
    second.close();
  });

  check('attach: stdinOnce ends the input when its first client leaves', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.echo, { stdin: true, stdinOnce: true }));
    const attached = await streams.attach(id, { ...STREAMS, stdin: true });
    attached.stdin?.write('last words\n');
    await readUntil(attached.stdout, /last words\n/);
    attached.close();
    assert.equal((await exited(runtime, id)).exitCode, 0);
  });

  check('attach: it ends with the container', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const attached = await streams.attach(id, STREAMS);
    const outputs = [attached.stdout, attached.stderr].flatMap((each) => (each === undefined ? [] : [readToEnd(each)]));
    await runtime.stopContainer(id, 50);
    assert.notEqual(outputs.length, 0);
    await Promise.all(outputs);
    await within(attached.ended, 'the end of the attachment');
  });

  check('attach: several read the same output', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.echo, { stdin: true }));
    const writer = await streams.attach(id, { ...STREAMS, stdin: true });
    const reader = await streams.attach(id, STREAMS);
    const seen = Promise.all([readUntil(writer.stdout, /to everybody\n/), readUntil(reader.stdout, /to everybody\n/)]);
    // A runtime may accept connections shortly after it reported that.
    const saying = eventually(async () => {
      writer.stdin?.write('to everybody\n');
      return Promise.race([seen.then(() => true), createSystemClock().sleep(50)]) as Promise<true | undefined>;
    }, 'both read it');
    await Promise.all([seen, saying]);
    writer.close();
    reader.close();
  });
}

function testPorts(check: Check, vocabulary: StreamVocabulary): void {
  check('port-forward: a port on which nobody listens is refused', async ({ runtime, streams }) => {
    await started(runtime, containerConfig(vocabulary.runForever));
    const sandbox = await onlySandbox(runtime, 'u1');
    await assert.rejects(streams.portForward(sandbox.id, 1), { name: 'RuntimeError' });
    await assert.rejects(streams.portForward('nowhere', 1), { code: 'NotFound' });
  });

  const { echoServer } = vocabulary;
  if (echoServer === undefined) return;
  check('port-forward: bytes both ways, and each side ends its half', async ({ runtime, streams }) => {
    const port = await freePort();
    await started(runtime, containerConfig(echoServer(port)));
    const sandbox = await onlySandbox(runtime, 'u1');
    const connection = await eventually(
      () => streams.portForward(sandbox.id, port).catch(() => undefined),
      'it listens',
    );
    const text = 'to the pod and back\n'.repeat(20_000);
    connection.end(text);
    assert.ok((await readToEnd(connection)) === text, 'the answer came after our half had ended');
  });
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

function testTerminals(check: Check, vocabulary: StreamVocabulary, terminalSize: readonly string[]): void {
  check('exec: a terminal, its size and its end', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const terminal = await streams.exec(id, request(terminalSize, { stdin: true, stderr: false, tty: true }));
    terminal.resize({ width: 100, height: 30 });
    const { stdin, stdout } = terminal;
    const seen = readUntil(stdout, /30 100/);
    const asking = eventually(async () => {
      stdin?.write('\n');
      return Promise.race([seen.then(() => true), createSystemClock().sleep(50)]) as Promise<true | undefined>;
    }, 'the size arrived');
    await Promise.all([seen, asking]);
    stdin?.write('\u0004');
    assert.equal(await exitCode(terminal), 0);
  });

  check('attach: a container with a terminal', async ({ runtime, streams }) => {
    const id = await started(runtime, containerConfig(terminalSize, { stdin: true, tty: true }));
    const attached = await streams.attach(id, { stdin: true, stdout: true, stderr: false, tty: true });
    attached.resize({ width: 90, height: 20 });
    const seen = readUntil(attached.stdout, /20 90/);
    const asking = eventually(async () => {
      attached.stdin?.write('\n');
      return Promise.race([seen.then(() => true), createSystemClock().sleep(50)]) as Promise<true | undefined>;
    }, 'the size arrived');
    await Promise.all([seen, asking]);
    attached.close();
  });
}
