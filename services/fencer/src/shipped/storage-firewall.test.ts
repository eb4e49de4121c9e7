import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerFor, type RunProgram } from './storage-firewall.ts';

const CHANGE = /^ssh storage nft (add|delete) element inet holdfast (fenced6?) \{ (.*) \}$/;
const LIST = /^ssh storage nft -j list set inet holdfast (fenced6?)$/;

/** Models the sets of a packet filter behind the `nft` commands. */
class FilterModel {
  readonly kept = new Set<string>();
  readonly commands: string[] = [];
  /** Addresses that it accepts but does not keep. */
  readonly forgets = new Set<string>();

  readonly run: RunProgram = async (command) => {
    const text = command.join(' ');
    this.commands.push(text);
    const change = CHANGE.exec(text);
    const list = LIST.exec(text);
    if (change !== null) this.#change(change);
    else if (list !== null) return this.#list(list[1] === 'fenced6');
    else assert.equal(text, 'ssh storage save', 'no other command');
    return '';
  };

  #change([, verb, set, members = '']: RegExpExecArray): void {
    for (const address of members.split(', ')) {
      assert.equal(address.includes(':'), set === 'fenced6', 'a set holds one family');
      if (verb === 'delete') assert.ok(this.kept.delete(address), 'what is not there cannot be deleted');
      else if (!this.forgets.has(address)) this.kept.add(address);
    }
  }

  #list(isSix: boolean): string {
    const elem = [...this.kept].filter((address) => address.includes(':') === isSix);
    return JSON.stringify({ nftables: [{ metainfo: {} }, { set: elem.length === 0 ? {} : { elem } }] });
  }
}

const ADDRESSES = [
  { type: 'InternalIP', address: '10.0.0.2' },
  { type: 'InternalIP', address: 'fd00:0:0::2' },
  { type: 'Hostname', address: 'node-2' },
];
const PARAMETERS = { nft: ['ssh', 'storage', 'nft'], persist: ['ssh', 'storage', 'save'] };

async function ask(model: FilterModel, action: string, addresses: readonly object[] = ADDRESSES): Promise<string> {
  const node = { name: 'node-2', addresses };
  const question = JSON.stringify({ action, requestId: 'r', scope: 'storage', node, parameters: PARAMETERS });
  return (JSON.parse(await answerFor(question, model.run)) as { state: string }).state;
}

test('[FENCE-05] the agent for storage servers blocks every address of the node, and unblocks it', async () => {
  const model = new FilterModel();
  assert.equal(await ask(model, 'status'), 'unfenced');
  assert.equal(await ask(model, 'unfence'), 'unfenced', 'nothing to lift');
  assert.equal(await ask(model, 'fence'), 'fenced');
  assert.equal(await ask(model, 'fence'), 'fenced');
  assert.deepEqual([...model.kept], ['10.0.0.2', 'fd00::2']);
  assert.ok(model.commands.includes('ssh storage save'), 'kept over a restart of the server');
  assert.equal(await ask(model, 'status'), 'fenced');
  assert.equal(await ask(model, 'unfence'), 'unfenced');
  assert.equal(model.kept.size, 0);
});

test('[FENCE-06] it confirms only what the packet filter reports: one unblocked address is no fence', async () => {
  const model = new FilterModel();
  model.forgets.add('fd00::2');
  assert.equal(await ask(model, 'fence'), 'unfenced');
  await assert.rejects(ask(model, 'fence', []), /has no address to block/);
  const evil = [{ type: 'InternalIP', address: '10.0.0.2; reboot' }];
  await assert.rejects(ask(model, 'fence', evil), /is not an IP address/);
  const mute: RunProgram = async () => '{"nftables": []}';
  const node = { addresses: ADDRESSES };
  await assert.rejects(answerFor(JSON.stringify({ action: 'status', node }), mute), /did not list the set/);
});
