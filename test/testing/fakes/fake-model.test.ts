import test from 'ava';
import { extensionPoint } from '../../../kernel/api/refs.ts';
import { bundledPlugins, fakeModel, startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

const ask = (gateway: TestGateway, path: string, stream = false) =>
  gateway.request(path, {
    method: 'POST',
    body: { model: 'default', stream, messages: [{ role: 'user', content: 'What now?' }] },
  });

/** The pieces of a streamed answer. */
const piecesOf = (body: string) =>
  [...body.matchAll(/^data: (\{.*\})$/gm)].flatMap(([, json = '']) => {
    const { content } = JSON.parse(json).choices?.[0]?.delta ?? {};
    return content ? [content as string] : [];
  });

test('each call gets the next answer, and the last one again; plain and streamed say the same', async (t) => {
  const model = fakeModel(
    'First.',
    { pieces: ['Sec', 'ond.'] },
    ({ messages }) => `${messages.at(-1)?.role} said`,
  );
  await using gateway = await startTestGateway({ plugins: await bundledPlugins(), model });
  const chat = async (stream: boolean) => (await ask(gateway, '/v1/chat/completions', stream)).body;
  t.is((await chat(false)).choices[0].message.content, 'First.');
  t.deepEqual(piecesOf(await chat(true)), ['Sec', 'ond.']);
  const { length } = model.requests;
  t.regex((await chat(false)).choices[0].message.content, /^user said$/);
  t.is(piecesOf(await chat(true)).join(''), (await chat(false)).choices[0].message.content);
  t.is(length, 2);
  t.is(model.requests[0]?.messages.at(-1)?.content, 'What now?');
  t.deepEqual(
    model.requests.map(({ stream }) => stream === true),
    [false, true, false, true, false],
  );
});

for (const stream of [false, true]) {
  test(`a call of a tool reaches it, and its result the model (${stream ? 'streamed' : 'plain'})`, async (t) => {
    const rolled: unknown[] = [];
    const dice = testPlugin('dice', {
      setup: (scope) => {
        const roll = {
          ref: 'plugin/dice/roll_dice',
          name: 'roll_dice',
          description: 'Rolls a die.',
          parameters: { type: 'object', properties: { sides: { type: 'integer' } } },
          invoke: async (given: unknown) => {
            rolled.push(given);
            return { content: '4' };
          },
        };
        scope.contribute(extensionPoint('agent-engine.tools'), {
          prefix: 'plugin/dice/',
          list: () => [roll],
        });
      },
    });
    const model = fakeModel(
      { text: 'Let me see.', calls: [{ name: 'roll_dice', arguments: { sides: 6 } }] },
      ({ messages }) => `You rolled ${messages.at(-1)?.content}.`,
    );
    await using gateway = await startTestGateway({ plugins: [...(await bundledPlugins()), dice], model });
    const { body } = await ask(gateway, '/v1/agent/chat', stream);
    const said = stream ? piecesOf(body).join('') : body.choices[0].message.content;
    t.regex(said, /You rolled 4\.$/);
    t.deepEqual(rolled, [{ sides: 6 }]);
    t.true(model.requests[0]?.tools?.some((tool) => tool.function.name === 'roll_dice'));
  });
}

test('a status is the failure of a provider, and the model ends with its gateway', async (t) => {
  const model = fakeModel({ status: 400 });
  const server = await model.listen();
  await server[Symbol.asyncDispose]();
  await t.throwsAsync(fetch(server.url));
  await using gateway = await startTestGateway({ plugins: await bundledPlugins(), model });
  const { status, body } = await ask(gateway, '/v1/chat/completions');
  t.deepEqual([status, body.error.code], [400, 'model.rejected']);
});
