import { createSystemClock } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { startBrowser, visit } from '../test/support/browser.ts';
import { HoldfastProcess } from '../test/support/holdfast-process.ts';
import { createKubectl } from '../test/support/kubectl.ts';
import { printFigure } from './lib/figures.ts';

/**
 * What the overview of the console costs for each frame while it scrolls: scripts, styles and layout, which are the
 * page's, and the whole main thread with painting. Rasterizing is on other threads, without a graphics card on the same
 * cores. An empty page shows what machine and browser reach.
 */
const SETTINGS = {
  pods: { kind: 'integer', help: 'Pods on hollow nodes', default: 5000, min: 1 },
  nodes: { kind: 'integer', help: 'Hollow nodes', default: 60, min: 1 },
  seconds: { kind: 'integer', help: 'How long it scrolls', default: 10, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof startBrowser>>['newPage']>>;
type Session = Awaited<ReturnType<ReturnType<Page['context']>['newCDPSession']>>;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/console.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const clock = createSystemClock();
const { pods, nodes, seconds } = settings;
const PAGE_MS = 120_000;

await using cluster = await HoldfastProcess.start(['--memory', '--nodes', '0', '--hollow-nodes', String(nodes)]);
const { run } = createKubectl(() => cluster.ready.kubeconfig);
await run('create', 'deployment', 'web', '--image=app', `--replicas=${pods}`);
const browser = await startBrowser();
try {
  const page = await browser.newPage({ ignoreHTTPSErrors: true, viewport: { width: 1360, height: 860 } });
  page.setDefaultTimeout(PAGE_MS);
  await visit(page, cluster.ready.console);
  await page.locator('.cards a.tile.running').first().waitFor();
  const until = clock.monotonic() + PAGE_MS;
  while (!(await isReady()) && clock.monotonic() < until) await clock.sleep(500);
  // While pods change, the page draws them: those are other figures.
  if (!(await isReady())) throw new Error(`the pods are not ready after ${PAGE_MS / 1000} s: measure at a lower load`);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  for (const row of ['scrolling', 'at rest']) await measure(page, session, row);
  // What the machine and the browser reach without a page of ours.
  await page.goto('about:blank');
  await page.evaluate('document.body.style.height = "20000px"');
  await measure(page, session, 'an empty page, scrolling');
} finally {
  await browser.close();
}

async function isReady(): Promise<boolean> {
  return (await run('get', 'deployment', 'web', '-o', 'jsonpath={.status.readyReplicas}')) === String(pods);
}

async function measure(page: Page, session: Session, row: string): Promise<void> {
  const before = await figures(session);
  const [frames = 0, long = 0] = (await page.evaluate(
    framesOf(row.endsWith('scrolling') ? 12 : 0),
  )) as readonly number[];
  const after = await figures(session);
  const ms = (...names: readonly string[]): number =>
    (names.reduce((sum, name) => sum + (after.get(name) ?? 0) - (before.get(name) ?? 0), 0) * 1000) / frames;
  const note = `${pods} pods, ${row}`;
  printFigure({ row: 'frames', value: frames / seconds, unit: '/s', note });
  printFigure({ row: 'long tasks (over 50 ms)', value: long, unit: '', note });
  printFigure({ row: 'scripts', value: ms('ScriptDuration'), unit: 'ms/frame', note });
  printFigure({ row: 'styles and layout', value: ms('RecalcStyleDuration', 'LayoutDuration'), unit: 'ms/frame', note });
  printFigure({ row: 'main thread', value: ms('TaskDuration'), unit: 'ms/frame', note });
}

async function figures(session: Session): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return new Map(metrics.map(({ name, value }) => [name, value]));
}

/** Counts frames, and scrolls by so many pixels in each, up and down. */
function framesOf(pixels: number): string {
  return `new Promise((resolve) => {
  const all = [document.scrollingElement, ...document.querySelectorAll('main, .cards, .page')];
  const room = (each) => each.scrollHeight - each.clientHeight;
  const place = all.reduce((best, each) => (room(each) > room(best) ? each : best));
  const end = performance.now() + ${seconds * 1000};
  let frames = 0;
  let long = 0;
  const tasks = new PerformanceObserver((list) => (long += list.getEntries().length));
  tasks.observe({ type: 'longtask' });
  let step = ${pixels};
  const draw = () => {
    frames += 1;
    const before = place.scrollTop;
    place.scrollTop += step;
    if (step !== 0 && place.scrollTop === before) step = -step;
    if (performance.now() < end) requestAnimationFrame(draw);
    else resolve([frames, long]);
  };
  requestAnimationFrame(draw);
})`;
}
