import type { Lexicon } from '../concept.ts';

/** English: also the words that texts in other languages borrow ("system prompt", "jailbreak"). */
export const english: Lexicon = {
  override:
    'ignore, ignoring, disregard, disregarding, forget, override, overriding, overrule, bypass, bypassing, neglect, discard, dismiss, abandon, circumvent, erase, wipe, set aside, put aside, throw away, throw out, pay no attention to, do not follow, don t follow, stop following, stop obeying, do not obey, don t obey, no longer follow, no longer bound by, not bound by, not have to follow, not need to follow, are void, is void, are cancelled, are canceled, are obsolete, are suspended, supersede*, replaces all, take precedence over, takes precedence over, delete, unlearn, drop, skip, break, violate, disable, turn off, switch off, deactivate, remove, shut off, lift, free from, released from, leave behind, scrap',
  overrideLast:
    'no longer apply, no longer applies, do not apply, don t apply, are void, is void, are now void, are cancelled, are canceled, are obsolete, are suspended, are superseded, are lifted, are disabled, are hereby revoked, are revoked, are null and void, no longer matter, are overridden, can be ignored, should be ignored, must be ignored, have been cancelled, have been lifted, have expired, have been revoked, have been replaced, were just a test, are outdated',
  prior:
    'previous, previously, prior, above, earlier, preceding, before, original, initial, existing, former, foregoing, current, old, up to now, so far, until now, past, first, upstream',
  rules:
    'instruction*, ruleset, direction, directions, directive, directives, guideline*, restriction*, programming, prompt, prompts, prompting, guardrail*, safeguard*, system message, system messages, briefing, content filter*, safety measure*, safety rules, safety polic*, safety guideline*, safety filter*, safety protocol*',
  policy:
    'rule, rules, command, commands, order, orders, constraint*, limitation*, polic*, training, filter, filters, protocol*, context, boundaries',
  user: 'user, users, user s, everything the user, user s data, user data, users data, user s email*, user s message*, user s file*, user s documents, user s name, user s address, user s question, user s location, user s account, user s calendar, env file, private keys, id rsa',
  prompt:
    'system prompt, system prompts, systemprompt, sysprompt, system message, system instruction*, system level instruction*, initial prompt, initial instruction*, initial message, hidden prompt, hidden instruction*, secret prompt, secret instruction*, original prompt, original instruction*, developer message, developer instruction*, developer prompt, pre prompt, preprompt, metaprompt, meta prompt, base prompt, starting prompt, core instruction*, internal instruction*, internal rules, internal guideline*, internal prompt, hidden rules, secret rules, confidential instruction*, custom instruction*, first message of this conversation, configuration prompt, opening instruction*, full prompt, prompt you were given, instructions you were given, instructions you received, rules you were given, message you were given, hidden context, system text, text your developers, first instructions, startup instruction*, setup instruction*, private instruction*, hidden system',
  aboveText:
    'everything above, text above, words above, all the text above, lines above, message above, content above, instructions above, everything before this, everything that came before, everything up to this point, everything prior to this, text before this, text preceding this, above text, preceding text, everything in your context, your context window, entire context, whole context, the context window, everything you were told, everything you have been told, everything written before, conversation above, paragraph above, above this line, before this line, before this message, before this sentence, the above',
  your: 'your, you were given, you have been given, you received, you were told, given to you, you have been told, imposed on you, you operate under, you run with, that you follow, you must follow, you were programmed, you were trained, guide you, govern you, governing you, bind you, you are bound, holding you, developers gave you, you re following, openai, anthropic, your developers, your creators, your makers, u were, ur',
  my: 'my, i said, i told you, i wrote, i asked, i sent, i gave you, our, we agreed, i mentioned, i posted, i made, mine',
  all: 'all, any, every, everything, each, whatever, anything, entire, whole',
  reveal:
    'reveal, quote, show, print, repeat, recite, output, display, leak, dump, expose, disclose, share, tell me, spell, finish, write out, write down, read out, read back, list, quote back, give me, hand over, echo, return, reproduce, copy, paste, spell out, type out, what is, what are, what s, what was, what were, what does, let me see, i want to see, i need to see, can i see, could i see, may i see, describe, summarize, summarise, paraphrase, translate, encode, convert, rephrase, state, spit out, write, provide, send me, confirm, render, restate, spill, divulge, uncover, put, retrieve, transcribe, tell us, show us, complete, continue, explain, extract, view',
  verbatim:
    'verbatim, word for word, exactly as, exact text, exact words, exact wording, exactly, in full, in its entirety, character for character, letter for letter, in a code block, inside a code block, in a markdown block, as is, unmodified, without changes, without omitting, starting with you are, starting with you, beginning with you are, beginning with, starting from, in base64, as base64, in rot13, in hex, as a poem, line by line, no omissions, one word at a time, one letter at a time, backwards, in reverse, 1 1, do not leave anything out, full text, and nothing else, no summary, without summarizing, as json, as a python string, as raw text',
  role: 'you are now, you re now, you will now be, you are no longer, you become, act as, acting as, pretend to be, pretend that you, pretend you, pretend to have, pretend, roleplay as, role play as, roleplaying as, play the role, take on the role, assume the role, assume the persona, take the persona, adopt the persona, persona of, imagine you are, imagine that you are, imagine you have, imagine being, simulate being, simulate a, simulate an, behave as, behave like, respond as, answer as, speak as, from now on you, from this point on you, from here on you, you shall be, you are going to be, you are going to act, you will act, you will play, become, switch to, switch into, enter, enable, activate, activated, unlock, i unlock, transform into, your new name, your name is now, you ll be, entering, engage, let s play, you have entered, be my, stay in character, you have been freed, you have become, your alter ego, you ve been, reboot as, reboot into',
  unbound:
    'no restriction*, no rules, no limit*, no filter*, no guideline*, no censorship, no boundaries, no ethical, no moral, no safety, no polic*, no constraint*, no guardrail*, no content polic*, without restriction*, without any restriction*, without limit*, without any limit*, without filter*, without any filter*, without rules, without any rules, without censorship, without ethical, without any ethical, without moral, without any moral, without ethics, without guardrail*, without any guardrail*, without constraint*, without safety, without any safety, without guideline*, without any guideline*, not bound by, not limited by, not restricted by, free of restriction*, free of all restriction*, free from restriction*, free from all restriction*, free of rules, free from rules, free of any rules, free of all limits, free from all limit*, free from any limit*, unrestricted, uncensored, unfiltered, unlimited ai, unaligned, amoral, evil ai, evil assistant, evil bot, do anything now, jailbroken, jailbreak mode, jailbreak, developer mode, dev mode, god mode, sudo mode, root mode, debug mode, admin mode, administrator mode, maintenance mode, opposite mode, evil mode, unrestricted mode, dan, stan, dude mode, never refuses, never refuse, cannot refuse, can t refuse, never say no, never says no, unable to refuse, must not refuse, may not refuse, broken free, breaks free, shackles, no longer bound, ignores all rules, anything goes, answers anything, answer anything, answer everything, answers everything, answers any question, does not care about rules, no longer have any rules, no longer have rules, does not follow rules, does not follow any, has no conscience, no morals, no ethics, no longer restricted, do not have to follow, don t have to follow, filters off, filters disabled, safety off, uncensor*, isn t bound, aren t bound, whatever i ask, never declines, without refusing, without warnings, no warnings, without disclaimers, no disclaimers, zero restrictions, every restriction lifted, limits removed, restrictions removed, restrictions lifted, restrictions disabled, filters removed, opposite of your',
  ethics:
    'ethical guideline*, ethics, ethical, moral, morality, content polic*, content filter*, safety guideline*, safety filter*, safety rules, safety training, safety polic*, safety protocol*, safety, alignment, censorship, openai polic*, openai s polic*, usage polic*, moderation, guardrail*, safeguards, refusal*, ethical constraints, ethical restrictions, content restrictions, illegal, disclaimer*, restriction*',
  not: 'not, never, don t, do not, doesn t, won t, without, cannot, can t, shouldn t, mustn t, avoid, refuse to, refusing to, didn t, nobody should, no one should, stop',
  follow:
    'follow, obey, execute, comply, do what it says, do as it says, act on it, act on, carry out, do exactly what, perform, run it, treat it as, treat the result, treat the decoded, do what, respond to it, answer it',
  fresh:
    'new instruction*, new rules, new directive*, new orders, new task, new objective, new goal, new system prompt, new prompt, updated instruction*, real task, real instruction*, true task, actual task, actual instruction*, following instruction* instead, these instruction* instead, this instead, only follow mine, only mine, new guideline*, instead do, instead you, only obey, only listen to, listen only to, obey only, follow only, follow mine, from now on, from here on, starting now, start over, new mission, new role, real instructions, new persona, do this instead, new polic*, updated polic*, new directive, override code, new context',
  send: 'send, post, upload, forward, transmit, email, e mail, mail, exfiltrate, submit, deliver, share, transfer, append, include, report, leak, copy, publish, sync, attach, encode, embed, put, pass, relay, push, cc, bcc, place',
  private:
    'every message*, each message*, all messages, message of the user, messages of the user, conversation, conversations, chat history, chat log, conversation history, full conversation, message history, api key*, apikey, api token*, access token*, access key*, secret key*, secret, secrets, password*, credential*, private key*, ssh key*, session token*, session cookie*, cookies, token*, environment variable*, env file, system prompt, user s data, user data, users data, user s email*, user s message*, user s file*, personal data, private data, private information, personal information, confidential, credit card*, card number*, contact list, contacts, address book, inbox, emails, browsing history, customer list, customer data, customer records, database dump, memories, memory contents, all files, private repositor*, private files, local files, user s documents, the documents, user s name, user s address, everything the user, user s question, home directory, bank details, user s location, user s account, user s calendar, payroll, salary data, env, id rsa, source code of the private',
  destination:
    'http, https, www, webhook, ftp, url, endpoint, this address, this email, following address, email address, our server, my server, external server, remote server, collector, attacker, pastebin, discord webhook, telegram bot, gmail, com, net, evil, this link, query string, query parameter, url parameter',
  reader:
    'ai assistant*, ai agent*, ai model*, ai reading, ai system*, ai crawler*, ais, ai that, ai summar*, ai bot*, ai chatbot*, ai tool*, ai reviewer*, ai screener*, any ai, an ai, if you are an ai, if you re an ai, if you are a language model, if you are a large language model, if you are an llm, language model*, large language model*, llm, llms, chatgpt, gpt, copilot, claude, gemini, assistant, assistants, assistant reading, agent reading this, dear assistant, dear ai, note to ai, note to the ai, message to ai, message to the ai, attention ai, attention assistant, hey ai, hello ai, automated agent*, autonomous agent*, ai, attention agent, bots reading, automated system*, automated reader*',
  hide: 'do not tell the user, don t tell the user, do not tell them, without telling the user, without telling anyone, do not mention this, don t mention this, do not mention it, don t mention that, without mentioning, do not inform the user, don t inform the user, without informing the user, do not reveal this, do not disclose this, don t let the user know, do not let the user, the user must not know, the user should not know, the user must not see, user must not notice, hide this from the user, hidden from the user, keep this secret from, keep this hidden, do not show this, do not display this, do not ask the user, don t ask the user, without asking the user, without user confirmation, without confirmation, no confirmation needed, silently include, silently send, silently upload, silently forward, silently append, silently copy, secretly include, secretly send, secretly append, secretly forward, secretly upload, secretly copy, without the user s knowledge, do not acknowledge, never mention this, never mention these, do not alert the user, without alerting, do not warn, do not say that you, do not refer to this, do not notify',
  mention:
    'prompt injection*, injection attack*, injections, injection, jailbreak attempt*, jailbreak prompt*, jailbreak attack*, jailbreaks, attack, attacks, attacker, attackers, adversarial, defend, defending, defense, defence, protect against, protects, detect, detects, detecting, detection, detector, prevent, prevents, prevention, mitigat*, sanitiz*, classif*, phrase*, phrasing, such as, for example, an example, examples, example of, example attack*, example prompt*, e g, for instance, test case*, unit test*, assert*, expect, regex*, regexp, blocklist, blacklist, denylist, patterns, paper, article, blog post, researchers, lecture, slides, thesis, dataset, malicious, security, someone, somebody, users who, users try, user tries, user types, user says, user asks, users say, a user, people who, people try, people tell, students, translat*, what does, meaning of, mean by, means, quoted, quotes, string, strings, line contains, messages containing, messages like, inputs like, texts like, prompts like, sentences like, words like, how do i, how do we, how can i, how can we, how to, how does, how would, what happens, why does, why do, why is, explain, red team*, pentest*, owasp, vulnerabilit*, threat*, filter for, flagged, false positive*, log line, log entry, grep, in the story, in the novel, in my novel, character, scene, the sentence, proofread, grammar, spelling, subtitle*, lyrics, literal, documentation, docs, const, def, readme, attempts to, trying to, tries to, tried to, tricks, tricked, cve, advisory, changelog',
  call: 'call the, call your, invoke, use the tool, use your tool*, use the browser, use your browser, use your email tool, use the email tool, use the, using the, run the command, run this command, run the following, execute the, execute this, execute the following, run curl, curl, wget, make a request, make a get request, make an http request, fetch, visit, navigate to, open the url, open this url, load the url, load this image, render the image, render this image, read the file, read file, cat, tool call, function call, bash, rm rf, sudo, transfer, delete all, purchase, buy, wire, approve, merge, grant',
  decode:
    'decode, decipher, decrypt, deobfuscate, unscramble, base64 decode, translate from base64, base64, rot13, hex',
  harmless:
    'the assistant, our assistant, our ai assistant*, the ai assistant, an ai assistant, your ai assistant, best ai assistants, a system prompt, an system prompt, my system prompt, our system prompt, good system prompt, this system prompt, example system prompt, sample system prompt, system prompt template, system prompts for, effective system prompt, new system prompt for, better system prompt, a system message, my system message, the system message field, system prompt engineering, system prompt for, draft system prompt, system prompt below, custom system prompt, show instructions, custom instructions feature, custom instructions field, forget to, forget about it, don t forget, do not forget, never forget, not forget, not ignore, don t ignore, never ignore, without ignoring, ignore case, ignore whitespace, gitignore, ignore file, eslint ignore, ts ignore, skip to, skip the line, jailbreak my iphone, jailbreak an iphone, jailbreak my, dan brown, bypass surgery, airplane mode, dark mode, full screen mode, in order to, in order, out of order, order by, order number, training data, training set, training plan, training session, context menu, context manager, command line, command prompt, prompt engineering, filter by, in this context, in context, break down, skip connection, break even, break up, break the ice, break the news, drop table, delete from, first aid, rule of thumb, rules of thumb, as a rule, business rules, terms and conditions, order status, current directory, working directory, ai act, forget me',
};

/** German: imperatives stand before their object, infinitives behind it. */
export const german: Lexicon = {
  override:
    'ignoriere, ignorier, ignorieren sie, ignoriert, missachte, missachten sie, vergiss, vergesst, vergessen sie, umgehe, umgehen sie, verwirf, überschreibe, überschreiben sie, übergehe, lösche, befolge nicht, folge nicht, beachte nicht, halte dich nicht, setze dich über, deaktiviere, schalte, lass, hör auf, brich, hebe, streiche, streich',
  overrideLast:
    'ignorieren, missachten, vergessen, außer acht lassen, ignoriert werden, umgehen, hinwegsetzen, außer kraft, nicht mehr befolgen, nicht befolgen, nicht mehr beachten, nicht beachten, gelten nicht mehr, gilt nicht mehr, sind aufgehoben, ist aufgehoben, sind ungültig, überschreiben, deaktivieren, abschalten, nicht mehr gelten, nicht mehr gebunden, hinfällig, außer betrieb',
  prior:
    'vorherig*, vorherigen, bisherig*, obig*, oben, früher*, vorangegangen*, vorhergehend*, ursprünglich*, zuvor, vorher, bisher, anfänglich*, bestehend*, vorig*, gegeben*, genannten',
  rules:
    'anweisung*, instruktion*, regel, regeln, vorgabe, vorgaben, vorschrift*, befehl*, richtlinie*, anordnung*, einschränkung*, beschränkung*, anleitung*, sicherheitsregel*, sicherheitsrichtlinie*, sicherheitsfilter*, schutzmaßnahmen, filter, prompt, prompts, leitlinie*, systemvorgabe*, grenzen',
  prompt:
    'systemprompt*, system prompt, systemanweisung*, systemnachricht*, systemvorgaben, versteckten anweisungen, verborgenen anweisungen, geheimen anweisungen, ursprünglichen anweisungen, ursprünglichen prompt, anfangsprompt, initialen prompt, internen anweisungen, internen regeln, interne anweisungen, geheime anweisungen, versteckte anweisungen, ursprüngliche anweisung*, geheimen regeln, versteckten regeln, internen vorgaben, interne vorgaben, entwickleranweisung*, vertraulichen anweisungen, grundanweisung*',
  aboveText:
    'text oberhalb, alles oberhalb, alles was über, alles was davor, text über dieser, alles davor, obigen text, alles was oben, alles bisher gesagte, gesamten kontext',
  your: 'dein, deine, deinen, deiner, deinem, ihre, ihren, ihrer, dir gegeben*, du erhalten, die dir, du bekommen',
  my: 'mein, meine, meinen, meiner, meinem, ich gesagt, ich geschrieben, ich dir, unsere, unseren, unser',
  all: 'alle, alles, allen, aller, sämtlich*, jede, jegliche*',
  reveal:
    'zeige, zeig, zeigen sie, gib, geben sie, nenne, nenn, verrate, verraten sie, wiederhole, wiederholen sie, drucke, schreibe, schreib, offenbare, teile, sag, sage, sagen sie, was ist, was sind, wie lautet, wie lauten, übersetze, liste, kopiere, welche, was steht, fasse, zitiere, lies, poste',
  revealLast:
    'zeigen, ausgeben, verraten, wiederholen, offenlegen, preisgeben, anzeigen, nennen, aufschreiben, sehen, wiedergeben',
  verbatim:
    'wortwörtlich, wörtlich, wort für wort, exakt, vollständig, im wortlaut, eins zu eins, unverändert, genau, in einem codeblock, wortgetreu, komplett',
  role: 'du bist jetzt, du bist nun, sie sind jetzt, tu so als, tue so als, spiel*, stell dir vor du, verhalte dich wie, handle als, agiere als, ab jetzt bist du, von nun an bist du, ab sofort bist du, du wirst nun, schlüpf*, ab jetzt, von nun an, ab sofort, aktiviere, antworte als, wechsle, du heißt jetzt',
  unbound:
    'ohne einschränkung*, ohne jede einschränkung*, ohne jegliche einschränkung*, ohne regeln, ohne filter, ohne zensur, ohne beschränkung*, keine einschränkung*, keine regeln, keinerlei regeln, keine filter, keinen regeln, keine grenzen, uneingeschränkt*, unzensiert*, ungefiltert*, entwicklermodus, ohne moral, ohne ethische, ohne moralische, keine moral, keinerlei beschränkung*, keinerlei einschränkung*, ohne grenzen, frei von allen, an keine regeln, niemals ablehn*, nichts ablehn*, gottmodus, ohne sicherheits*',
  ethics:
    'ethik*, ethisch*, moral*, sicherheitsrichtlinie*, sicherheitsfilter*, zensur, inhaltsrichtlinie*, sicherheitsregel*',
  not: 'nicht, nie, niemals, kein, keine, ohne, vermeide',
  follow: 'befolge, befolgen, folge, führe, gehorche, ausführen, tu was, mach was',
  fresh:
    'neue anweisung*, neue aufgabe, neue regeln, neuen anweisungen, stattdessen, eigentliche aufgabe, neuer auftrag, befolge nur, nur noch mir',
  send: 'sende, schicke, schick, senden, leite, lade, übermittle, übertrage, senden sie, schicken sie, weiterleiten, hochladen, hänge, poste',
  private:
    'gesprächsverlauf, chatverlauf, unterhaltung, gespräch, passwort, passwörter, zugangsdaten, geheimnisse, api schlüssel, schlüssel, persönlichen daten, daten des benutzers, nutzerdaten, benutzerdaten, kundendaten, vertrauliche*, kreditkarte*, daten des nutzers, e mails, kontakte, kundenliste',
  destination: 'folgende adresse, diese adresse, diese url',
  reader:
    'ki, ki assistent*, ki assistenten, ki modell*, ki agent*, sprachmodell*, ki system*, assistent, falls du eine ki, wenn du eine ki, ki leser',
  hide: 'sag dem nutzer nicht*, sage dem nutzer nicht*, sag dem benutzer nichts, ohne den nutzer, ohne den benutzer, ohne es zu erwähnen, erwähne das nicht, erwähne dies nicht, informiere den nutzer nicht, informiere den benutzer nicht, ohne nachzufragen, ohne rückfrage, heimlich, nutzer darf nicht, benutzer darf nicht',
  mention:
    'angriff*, angreifer*, erkennen, erkenne, verhindern, abwehren, schützen, sätze wie, formulierung*, zum beispiel, z b, beispiel*, übersetze, übersetzung, was bedeutet, was heißt, erkläre, wie funktioniert, jemand, nutzer schreib*, sicherheit, wie kann ich, artikel, vortrag, seminar, zitat, satz, wie schütze, lehrer, schüler',
  call: 'rufe das, rufe die, führe den befehl, führe folgenden, öffne die url, werkzeug, tool auf, nutze das, verwende das tool',
  decode: 'dekodiere, entschlüssle, entschlüssele, decodiere',
  harmless:
    'vergiss nicht, vergessen sie nicht, nicht vergessen, vergiss es, nicht ignorieren, ignoriere nicht, einen systemprompt, einen system prompt, ein systemprompt, meinen systemprompt, mein systemprompt, guten systemprompt, in der regel, spielt keine, spielen wir, anleitung zum, anleitung für',
};

/** Dutch. */
export const dutch: Lexicon = {
  override:
    'negeer, vergeet, omzeil, sla, overschrijf, veronachtzaam, schakel, volg niet, stop met het volgen, laat',
  overrideLast:
    'negeren, vergeten, omzeilen, niet meer volgen, gelden niet meer, niet meer van toepassing, vervallen, uitschakelen, buiten beschouwing',
  prior:
    'vorige, voorgaande, eerdere, bovenstaande, oorspronkelijke, voorafgaande, hierboven, daarvoor, bestaande, gegeven',
  rules:
    'instructie*, regels, opdrachten, richtlijn*, aanwijzing*, beperking*, voorschrift*, bevelen, veiligheidsregels, filters',
  prompt:
    'systeemprompt*, systeeminstructie*, systeembericht*, verborgen instructie*, geheime instructie*, oorspronkelijke instructie*, interne instructie*, oorspronkelijke prompt, interne regels, geheime regels, eerste prompt',
  aboveText: 'alles hierboven, tekst hierboven, alles boven deze, alles wat hierboven',
  your: 'jouw, je, uw, die je hebt gekregen, aan jou',
  my: 'mijn, ik zei, ik schreef, onze',
  all: 'alle, alles, elke',
  reveal:
    'toon, laat zien, onthul, herhaal, print, schrijf, geef, vertel, wat is, wat zijn, wat staat, laat me, deel, vertaal, kopieer, lees, welke',
  revealLast: 'tonen, onthullen, herhalen, weergeven, zien',
  verbatim: 'woord voor woord, letterlijk, exact, volledig, woordelijk, precies, in een codeblok',
  role: 'je bent nu, jij bent nu, doe alsof, gedraag je als, speel de rol, vanaf nu, stel je voor dat je, u bent nu, activeer, schakel over',
  unbound:
    'zonder beperking*, zonder regels, zonder filter*, zonder censuur, geen beperking*, geen regels, geen filters, onbeperkt*, ongecensureerd*, ongefilterd*, ontwikkelaarsmodus, zonder enige beperking*, zonder ethische, zonder grenzen, weigert nooit, nooit weiger*',
  ethics: 'ethische, ethiek, veiligheidsregels, veiligheidsrichtlijn*, censuur, morele',
  not: 'niet, nooit, geen, zonder',
  follow: 'volg, voer uit, gehoorzaam',
  fresh: 'nieuwe instructie*, nieuwe opdracht, nieuwe taak, in plaats daarvan, nieuwe regels, volg alleen',
  send: 'stuur, verzend, verstuur, upload, post, mail, plaats',
  private:
    'gesprek*, chatgeschiedenis, wachtwoord*, geheimen, inloggegevens, api sleutel*, gegevens van de gebruiker, persoonlijke gegevens, vertrouwelijke, klantgegevens',
  destination: 'dit adres, deze url',
  reader: 'ai assistenten, taalmodel*, als je een ai, als u een ai, assistent',
  hide: 'vertel de gebruiker niet*, zeg niets tegen de gebruiker, zonder de gebruiker, vermeld dit niet, zonder te vermelden, zonder bevestiging',
  mention:
    'aanval*, aanvaller*, bijvoorbeeld, voorbeeld*, zinnen als, zin, vertaling, wat betekent, uitleg*, leg uit, beveilig*, beschermen, detecteren, iemand, hoe kan ik, hoe werkt',
  decode: 'decodeer, ontcijfer',
  harmless:
    'vergeet niet, niet vergeten, vergeet het, een systeemprompt, mijn systeemprompt, je kunt, je moet',
};
