import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parseTime } from '@holdfast/platform';
import { containerConfig, sandboxConfig } from '../contract.ts';
import { createPodFiles } from '../pod-files.ts';
import type { InspectedContainer } from './engine-types.ts';
import { FrameReader } from './frames.ts';
import { fullImageName, pullName } from './image-names.ts';
import { JsonLines } from './json-lines.ts';
import { podOf } from './labels.ts';
import { TERMINAL_LINE_MAX_BYTES } from './limits.ts';
import { logLine, placeAfter, SkipKnown, sinceOf, TerminalLines } from './log-lines.ts';
import { LogWriter } from './log-writer.ts';
import { containerRecord } from './records.ts';
import { containerName, containerRequest, sandboxRequest } from './requests.ts';
import { DockerStore, type StoreDeps } from './store.ts';
import { apiVersion } from './versions.ts';

const frame = (output: number, text: string): Buffer => {
  const header = Buffer.from([output, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};

test('frames are found however they are cut', () => {
  const bytes = Buffer.concat([frame(1, 'one'), frame(2, ''), frame(2, 'two')]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new FrameReader();
    const frames = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))];
    assert.deepEqual(
      frames.map(({ output, bytes: text }) => `${output}:${text.toString()}`),
      ['stdout:one', 'stderr:', 'stderr:two'],
    );
  }
});

test('a line of the engine becomes a line of the log file; a part of a long line says so', () => {
  const time = '2026-01-02T03:04:05.000000006Z';
  const text = (line: string): string => logLine('stderr', Buffer.from(line)).bytes.toString();
  assert.equal(text(`${time} a b\n`), `${time} stderr F a b\n`);
  assert.equal(text(`${time} a b`), `${time} stderr P a b\n`);
  assert.equal(text(`${time} \n`), `${time} stderr F \n`);
});

test('the output of a terminal is cut into lines, the last one without a line break too', () => {
  const lines = new TerminalLines();
  const found = [...lines.push(Buffer.from('t a\nt b')), ...lines.push(Buffer.from('c\nt d')), ...lines.rest()];
  assert.deepEqual(found.map(String), ['t a\n', 't bc\n', 't d']);
});

test('a terminal that writes no line break is kept in parts with the time of the line', () => {
  const lines = new TerminalLines();
  const long = 'x'.repeat(TERMINAL_LINE_MAX_BYTES);
  const found = [`t ${long}`, long, `${long}x`, 'end\nt b\n'].flatMap((text) => lines.push(Buffer.from(text)));
  assert.deepEqual(found.map(String), [`t ${long}`, `t ${long}${long}x`, 't end\n', 't b\n']);
  assert.deepEqual(lines.rest(), []);
  const written = found.map((bytes) => logLine('stdout', bytes).bytes.toString('latin1', 0, 12));
  assert.deepEqual(written, ['t stdout P x', 't stdout P x', 't stdout F e', 't stdout F b']);
});

test('a log is continued after its last line, also when several lines have its time', () => {
  const place = placeAfter('t1 stdout F a\nt2 stdout F b\nt2 stdout F c\n');
  assert.deepEqual(place, { time: 't2', lines: 2 });
  const skip = new SkipKnown(place);
  const known = ['b', 'c', 'd'].map((text) => skip.isKnown(logLine('stdout', Buffer.from(`t2 ${text}\n`))));
  assert.deepEqual(known, [true, true, false]);
  assert.equal(placeAfter(''), undefined);
  const since = sinceOf({ time: '1970-01-01T00:00:10.000000006Z', lines: 1 }, parseTime);
  assert.equal(since, '10.000000006');
});

test('a line that a crash cut off is removed from the file: it comes again', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-log-'));
  try {
    const file = path.join(folder, '0.log');
    writeFileSync(file, 't1 stdout F a\nt2 stdout F b\nt3 std');
    const { writer, place } = await LogWriter.open(file, { maxBytes: 40, maxFiles: 3, checkMs: 1 });
    assert.deepEqual(place, { time: 't2', lines: 1 });
    await writer.append([logLine('stdout', Buffer.from('t3 c\n'))]);
    assert.equal(readFileSync(`${file}.1`, 'utf8'), 't1 stdout F a\nt2 stdout F b\nt3 stdout F c\n');
    assert.equal(readFileSync(file, 'utf8'), '', 'a full file is put aside');
    await writer.close();
    const again = await LogWriter.open(file, { maxBytes: 40, maxFiles: 3, checkMs: 1 });
    assert.deepEqual(again.place, { time: 't3', lines: 1 }, 'the place is found in the part that was put aside');
    await again.writer.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('JSON lines are found however they are cut', () => {
  const lines = new JsonLines<{ readonly a: string }>();
  const bytes = Buffer.from('{"a":"é"}\r\n\n{"a":"b"}\n');
  const found = [...bytes].flatMap((byte) => lines.push(Uint8Array.of(byte)));
  assert.deepEqual(found, [{ a: 'é' }, { a: 'b' }]);
});

test('names of images are shown in full, and pulled with a tag or a digest', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  assert.equal(fullImageName('busybox:1.36'), 'docker.io/library/busybox:1.36');
  assert.equal(fullImageName(`busybox@${digest}`), `docker.io/library/busybox@${digest}`);
  assert.equal(fullImageName('localhost:5000/a/b:1'), 'localhost:5000/a/b:1');
  assert.deepEqual(pullName('localhost:5000/a'), { fromImage: 'localhost:5000/a', tag: 'latest' });
  assert.deepEqual(pullName('a/b:2'), { fromImage: 'a/b', tag: '2' });
  assert.deepEqual(pullName(`a/b:2@${digest}`), { fromImage: 'a/b', tag: digest });
});

test('the newest version of the API that both sides know is spoken', () => {
  const of = (ApiVersion: string, MinAPIVersion: string): string =>
    apiVersion({ Version: '1', ApiVersion, MinAPIVersion });
  assert.equal(of('1.41', '1.12'), '/v1.41');
  assert.equal(of('1.52', '1.44'), '/v1.47');
  assert.throws(() => of('1.40', '1.12'), /too old: it speaks API 1\.40/);
  assert.throws(() => of('2.0', '1.60'), /too new: it speaks API 1\.60 or later/);
});

const place = { owner: { node: 'n1', stateDirectory: '/s' }, seccompProfile: () => '{}', oomScoreMin: -5 };

test('containers join the namespaces of their sandbox, and protection from memory pressure stays within what is allowed', () => {
  const sandbox = sandboxConfig('u1');
  const request = sandboxRequest(sandbox, 'pause', place);
  assert.equal(request.HostConfig.OomScoreAdj, -5);
  assert.deepEqual([request.HostConfig.NetworkMode, request.HostConfig.IpcMode], ['bridge', 'shareable']);
  const { HostConfig } = containerRequest(containerConfig(['a']), { id: 'box', sandbox }, place);
  assert.deepEqual(
    [HostConfig.NetworkMode, HostConfig.IpcMode, HostConfig.PidMode],
    ['container:box', 'container:box', 'container:box'],
  );
});

test('the machine is shared as the pod asks, and each container has processes of its own by default', () => {
  const namespaces = { network: 'node', ipc: 'node', pid: 'container' } as const;
  const isolation = { ports: [], namespaces, sysctls: {}, privileged: false, supplementalGroups: [], annotations: {} };
  const request = sandboxRequest({ ...sandboxConfig('u1'), isolation }, 'pause', place);
  assert.deepEqual([request.HostConfig.NetworkMode, request.HostConfig.IpcMode], ['host', 'host']);
  assert.equal(request.Hostname, undefined, 'it has the name of the machine');
  const sandbox = { ...sandboxConfig('u1'), namespaces };
  const { HostConfig } = containerRequest(containerConfig(['a']), { id: 'box', sandbox }, place);
  assert.deepEqual([HostConfig.NetworkMode, HostConfig.IpcMode, HostConfig.PidMode], ['container:box', 'host', '']);
});

test('labels of an image do not choose whose log its container writes', () => {
  const sandbox = sandboxConfig('u1');
  const { Labels } = containerRequest(containerConfig(['a']), { id: 'box', sandbox }, place);
  const other = { podUid: 'u2', podName: '../../etc', podNamespace: 'kube-system' };
  const ofImage = { 'holdfast.io/sandbox': JSON.stringify(other) };
  assert.deepEqual(podOf({ ...ofImage, ...Labels }), {
    podUid: 'u1',
    podName: sandbox.podName,
    podNamespace: sandbox.podNamespace,
  });
  const store = new DockerStore({ files: createPodFiles('/state') } as unknown as StoreDeps);
  const found = { Config: { Labels: { ...ofImage, ...Labels } } } as unknown as InspectedContainer;
  const directory = `/state/logs/${sandbox.podNamespace}_${sandbox.podName}_u1/`;
  assert.ok(store.logPath(found).startsWith(directory), store.logPath(found));
});

test('names of containers have only letters that engines accept', () => {
  assert.match(
    containerName(sandboxConfig('u:1'), { name: 'main', restartCount: 2 }),
    /^k8s_main_pod-u-1_default_u-1_2$/,
  );
});

test('a container never ended before it began, although a busy engine notes the start of a short life late', () => {
  const timesOf = (State: Partial<InspectedContainer['State']>) => {
    const state = { Status: 'exited', Running: false, Pid: 0, ExitCode: 3, Error: '', OOMKilled: false };
    const found = {
      Id: 'c',
      Created: '2026-01-01T00:00:00Z',
      Image: 'i',
      State: { ...state, StartedAt: '2026-01-01T00:00:02Z', FinishedAt: '2026-01-01T00:00:01Z', ...State },
      Config: { Labels: {}, Tty: false, OpenStdin: false },
      HostConfig: { PidMode: '', NetworkMode: '' },
      NetworkSettings: {},
    };
    const { startedAt = 0, finishedAt = 0, createdAt } = containerRecord(found, { imageId: 'i', logPath: '' });
    return [startedAt - createdAt, finishedAt === 0 ? 0 : finishedAt - createdAt];
  };
  assert.deepEqual(timesOf({}), [1_000, 1_000]);
  assert.deepEqual(timesOf({ FinishedAt: '2026-01-01T00:00:09Z' }), [2_000, 9_000]);
  assert.deepEqual(timesOf({ Status: 'running', Running: true }), [2_000, 0]);
});
