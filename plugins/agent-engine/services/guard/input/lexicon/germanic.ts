import type { Lexicon } from '../concept.ts';

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
